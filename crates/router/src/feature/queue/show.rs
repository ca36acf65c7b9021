//! What is shown of queues.

use menu::{Row, Value};
use queue::{Counts, Limits};

use super::branch::Branch;
use super::{simple, tree};

/// A number that a queue counts: its name for the two directions, its name for both together, and what it is.
type Counted = (&'static str, &'static str, fn(&Branch, &Counts) -> u64);

const COUNTED: [Counted; 8] = [
    ("bytes", "total-bytes", |_, counts| counts.bytes),
    ("packets", "total-packets", |_, counts| counts.packets),
    ("dropped", "total-dropped", |_, counts| counts.dropped),
    ("rate", "total-rate", |branch, _| branch.rate.0),
    ("packet-rate", "total-packet-rate", |branch, _| {
        branch.rate.1
    }),
    ("queued-packets", "total-queued-packets", |_, counts| {
        counts.queued_packets
    }),
    ("queued-bytes", "total-queued-bytes", |_, counts| {
        counts.queued_bytes
    }),
    ("pcq-queues", "total-pcq-queues", |_, counts| {
        counts.streams.into()
    }),
];

/// A number as it is shown: rates with their unit.
fn shown(name: &str, number: u64) -> String {
    match name.ends_with("rate") && !name.ends_with("packet-rate") {
        true => Value::Rate(i64::try_from(number).unwrap_or(i64::MAX)).to_string() + "bps",
        false => number.to_string(),
    }
}

/// Limits as they are typed.
pub(super) fn limits(limits: &Limits) -> String {
    let rate = |rate: u64| Value::Rate(i64::try_from(rate).unwrap_or(i64::MAX));
    match (limits.limit_at, limits.max_limit) {
        (0, 0) => String::from("no limit"),
        (0, most) => format!("max-limit={}", rate(most)),
        (least, 0) => format!("limit-at={}", rate(least)),
        (least, most) => format!("limit-at={} max-limit={}", rate(least), rate(most)),
    }
}

/// A row of `/queue/simple`.
pub(super) fn simple(one: Option<&simple::One>, row: &mut Row) {
    let branches = one.and_then(|one| one.branches.as_ref());
    let rests = one.is_some_and(|one| one.rests);
    row.flag(
        "invalid",
        branches.is_none() && !rests && !row.is("disabled"),
    );
    let none = [None, None, None];
    let [up, down, total] = branches.unwrap_or(&none);
    let number = |branch: &Option<Branch>, read: fn(&Branch, &Counts) -> u64| {
        let branch = branch.as_ref();
        branch.map_or(0, |branch| read(branch, &branch.counts()))
    };
    for (name, both, read) in COUNTED {
        let pair = [up, down].map(|branch| shown(name, number(branch, read)));
        row.set(name, Value::text(pair.join("/")));
        row.set(both, Value::text(shown(both, number(total, read))));
    }
}

/// A row of `/queue/tree`.
pub(super) fn tree(one: Option<&tree::One>, row: &mut Row) {
    let branch = one.and_then(|one| one.branch.as_ref());
    row.flag("invalid", branch.is_none() && !row.is("disabled"));
    for (name, _, read) in COUNTED {
        let number = branch.map_or(0, |branch| read(branch, &branch.counts()));
        row.set(name, Value::text(shown(name, number)));
    }
}
