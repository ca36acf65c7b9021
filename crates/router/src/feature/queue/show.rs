//! Rows of queues.

use menu::{Row, Value};
use queue::{Counts, Limits};

use super::branch::Branch;
use super::{simple, tree};
use crate::live::{bit_rate, number};

/// A counter or rate of a queue.
struct Measure {
    /// Name of the cell for one direction, or for both as `up/down`.
    name: &'static str,
    /// Name of the cell for the total queue.
    total: &'static str,
    read: fn(&Branch, &Counts) -> u64,
    /// Converts the number to the cell's value.
    shown: fn(u64) -> Value,
}

impl Measure {
    const fn new(
        name: &'static str,
        total: &'static str,
        read: fn(&Branch, &Counts) -> u64,
    ) -> Self {
        Self {
            name,
            total,
            read,
            shown: number,
        }
    }

    /// Returns the value of a branch; 0 without a branch.
    fn value(&self, branch: Option<&Branch>) -> Value {
        (self.shown)(branch.map_or(0, |branch| (self.read)(branch, &branch.counts())))
    }
}

const MEASURES: [Measure; 8] = [
    Measure::new("bytes", "total-bytes", |_, counts| counts.bytes),
    Measure::new("packets", "total-packets", |_, counts| counts.packets),
    Measure::new("dropped", "total-dropped", |_, counts| counts.dropped),
    Measure {
        shown: bit_rate,
        ..Measure::new("rate", "total-rate", |branch, _| branch.rate.0)
    },
    Measure::new("packet-rate", "total-packet-rate", |branch, _| {
        branch.rate.1
    }),
    Measure::new("queued-packets", "total-queued-packets", |_, counts| {
        counts.queued_packets
    }),
    Measure::new("queued-bytes", "total-queued-bytes", |_, counts| {
        counts.queued_bytes
    }),
    Measure::new("pcq-queues", "total-pcq-queues", |_, counts| {
        counts.streams.into()
    }),
];

/// Formats limits as they are typed.
pub(super) fn limits(limits: &Limits) -> String {
    let rate = |rate: u64| Value::Rate(i64::try_from(rate).unwrap_or(i64::MAX));
    match (limits.limit_at, limits.max_limit) {
        (0, 0) => String::from("no limit"),
        (0, most) => format!("max-limit={}", rate(most)),
        (least, 0) => format!("limit-at={}", rate(least)),
        (least, most) => format!("limit-at={} max-limit={}", rate(least), rate(most)),
    }
}

/// Fills in a row of `/queue/simple`.
pub(super) fn simple(one: Option<&simple::SimpleQueue>, row: &mut Row) {
    let branches = one.and_then(|one| one.branches.as_ref());
    let rests = one.is_some_and(|one| one.rests);
    row.flag(
        "invalid",
        branches.is_none() && !rests && !row.is("disabled"),
    );
    let none = [None, None, None];
    let [up, down, total] = branches.unwrap_or(&none);
    for measure in &MEASURES {
        let pair = [up, down].map(|branch| measure.value(branch.as_ref()));
        row.set(measure.name, Value::Tuple("/", pair.into()));
        row.set(measure.total, measure.value(total.as_ref()));
    }
}

/// Fills in a row of `/queue/tree`.
pub(super) fn tree(one: Option<&tree::TreeQueue>, row: &mut Row) {
    let branch = one.and_then(|one| one.branch.as_ref());
    row.flag("invalid", branch.is_none() && !row.is("disabled"));
    for measure in &MEASURES {
        row.set(measure.name, measure.value(branch));
    }
}
