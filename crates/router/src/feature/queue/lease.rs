//! Simple queues that are none of the configuration: of DHCP leases with `rate-limit`.

use core::net::Ipv4Addr;
use core::ops::ControlFlow;
use std::net::IpAddr;

use ipnet::IpNet;
use machine::{Duration, Instant};
use menu::{Id, Row, RowFilter, Value};
use queue::{Limits, Target};

use super::read::{Side, Simple, Whom};
use super::{Ground, Queues, show, usual_name};
use crate::feature::Effects;
use crate::intent::Name;
use crate::live::give;
use crate::object::DYNAMIC;

/// A queue of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseQueue {
    /// Its name.
    pub name: Name,
    /// The client.
    pub target: Ipv4Addr,
    /// Limits of what the client sends and of what it receives.
    pub limits: [Limits; 2],
    /// The queue that it lies in.
    pub parent: Option<Name>,
    /// The type of its queues.
    pub kind: Option<Name>,
    /// It stands before all others, else behind them.
    pub first: bool,
}

impl LeaseQueue {
    /// Limits as RouterOS writes them: `rx/tx`, bursts, thresholds, times of bursts, priority, guaranteed rates. `rx`
    /// is what the client sends. `None` if the text is none.
    pub(crate) fn limits(text: &str) -> Option<[Limits; 2]> {
        let mut words = text.split_whitespace();
        let rates = words.next()?;
        let rest: Vec<_> = words.collect();
        let word = |at: usize| rest.get(at).copied().unwrap_or("0");
        let priority = rest.get(3).map_or(Some(8), |text| text.parse().ok())?;
        let limits = |side: usize| {
            Some(Limits {
                limit_at: rate(side_of(word(4), side))?,
                max_limit: rate(side_of(rates, side))?,
                burst_limit: rate(side_of(word(0), side))?,
                burst_threshold: rate(side_of(word(1), side))?,
                burst_time: Duration::from_secs(side_of(word(2), side).parse().ok()?),
                bucket: 100,
                priority,
            })
        };
        Some([limits(0)?, limits(1)?])
    }

    fn settings(&self) -> Simple {
        let kind = self.kind.clone().unwrap_or_else(usual_name);
        let side = |limits: Limits| Side {
            limits,
            kind: kind.clone(),
        };
        let none = Limits {
            bucket: 100,
            priority: 8,
            ..Limits::default()
        };
        let target = Target::Prefix {
            ipv6: false,
            address: self.target.to_bits().into(),
            len: 32,
        };
        Simple {
            name: self.name.clone(),
            disabled: false,
            parent: self.parent.clone(),
            targets: vec![Whom::Network(target)],
            peer: None,
            marks: Vec::new(),
            time: None,
            sides: [side(self.limits[0]), side(self.limits[1]), side(none)],
        }
    }
}

/// One of the two values of a word; the only one stands for both.
fn side_of(word: &str, side: usize) -> &str {
    let mut sides = word.split('/');
    let first = sides.next().unwrap_or_default();
    match side {
        0 => first,
        _ => sides.next().unwrap_or(first),
    }
}

/// Bits a second: `512k`, `10M`, `1G`.
fn rate(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

impl Queues {
    /// The queue of a lease comes, is another, or goes.
    pub(crate) fn set_of_lease(
        &mut self,
        lease: u64,
        queue: Option<LeaseQueue>,
        now: Instant,
        out: &mut Effects,
    ) {
        let id = DYNAMIC | lease;
        let ground = &mut Ground {
            types: &self.types,
            interfaces: &self.interfaces,
            numbers: &mut self.numbers,
            clock: dataplane::rule::Clock::at(Instant::ZERO, self.clock.local_seconds()),
        };
        match &queue {
            Some(queue) => {
                let position = if queue.first {
                    lease
                } else {
                    (u64::MAX >> 1) | lease
                };
                self.simple.put(id, queue.settings(), position, ground, out);
            }
            None => self.simple.take_away(id, ground, out),
        }
        match queue {
            Some(queue) => self.leases.insert(id, queue),
            None => self.leases.remove(&id),
        };
        self.settle(now, out);
    }

    /// The rows of leases' queues.
    pub(super) fn lease_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, queue) in &self.leases {
            let mut row = Row {
                id: Some(Id(*id)),
                ..Row::default()
            };
            let kind = queue.kind.clone().unwrap_or_else(usual_name);
            let target = IpNet::from(IpAddr::V4(queue.target));
            row.set("name", Value::text(&*queue.name));
            row.set("target", Value::List(vec![Value::Prefix(target)]));
            let parent = queue.parent.as_deref().unwrap_or("none");
            row.set("parent", Value::text(parent));
            let [up, down] = &queue.limits;
            let both = |read: fn(&Limits) -> u64| {
                let shown = |limits| Value::Rate(i64::try_from(read(limits)).unwrap_or(i64::MAX));
                Value::Tuple("/", Box::new([shown(up), shown(down)]))
            };
            row.set("limit-at", both(|limits| limits.limit_at));
            row.set("max-limit", both(|limits| limits.max_limit));
            row.set("burst-limit", both(|limits| limits.burst_limit));
            row.set("burst-threshold", both(|limits| limits.burst_threshold));
            let times = [up, down].map(|limits| {
                Value::Time(i64::try_from(limits.burst_time.as_nanos()).unwrap_or(0))
            });
            row.set("burst-time", Value::Tuple("/", times.into()));
            let priorities = [up, down].map(|limits| Value::Number(limits.priority.into()));
            row.set("priority", Value::Tuple("/", priorities.into()));
            let kinds = [&kind, &kind].map(|kind| Value::Reference((&**kind).into()));
            row.set("queue", Value::Tuple("/", kinds.into()));
            row.flag("disabled", false);
            row.flag("dynamic", true);
            show::simple(self.simple.get(*id), &mut row);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_radius_servers_write_them() {
        let read = |text| {
            let limits = LeaseQueue::limits(text)?;
            Some(limits.map(|of| {
                (
                    of.max_limit,
                    of.burst_limit,
                    of.burst_time.as_secs(),
                    of.priority,
                    of.limit_at,
                )
            }))
        };
        let plain = |rate| (rate, 0, 0, 8, 0);
        assert_eq!(read("10M"), Some([plain(10_000_000); 2]));
        assert_eq!(read("512k/2M"), Some([plain(512_000), plain(2_000_000)]));
        let whole = "1M/2M 3M/4M 1M/1M 5/6 7 100k/200k";
        let up = (1_000_000, 3_000_000, 5, 7, 100_000);
        let down = (2_000_000, 4_000_000, 6, 7, 200_000);
        assert_eq!(read(whole), Some([up, down]));
        assert_eq!(read(""), None);
        assert_eq!(read("fast"), None);
    }
}
