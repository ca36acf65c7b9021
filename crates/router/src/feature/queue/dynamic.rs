//! Dynamic simple queues, which features create as objects: of DHCP leases with `rate-limit`, of sessions.

use machine::{Duration, Instant};
use menu::{Row, Value};
use queue::Limits;

use super::read::{Side, Simple, Whom, network};
use super::{Ground, Queues, show, usual_name};
use crate::feature::Effects;
use crate::intent::{ItemId, Name};
use crate::object::{DynamicQueue, QueueTarget};

/// Returns the settings of a dynamic queue, as of an item.
fn settings(queue: &DynamicQueue) -> Simple {
    let side = |limits, kind: Option<&Name>| Side {
        limits,
        kind: kind.cloned().unwrap_or_else(usual_name),
    };
    let unlimited = Limits {
        bucket: 100,
        priority: 8,
        ..Limits::default()
    };
    let [up, down] = queue.limits;
    let [up_kind, down_kind] = queue.kinds.each_ref().map(Option::as_ref);
    let target = match &queue.target {
        QueueTarget::Network(net) => Whom::Network(network(net)),
        QueueTarget::Interface(name) => Whom::Interface(name.clone()),
    };
    Simple {
        name: queue.name.clone(),
        disabled: false,
        parent: queue.parent.clone(),
        targets: vec![target],
        peer: None,
        marks: Vec::new(),
        time: None,
        sides: [
            side(up, up_kind),
            side(down, down_kind),
            side(unlimited, None),
        ],
    }
}

impl Queues {
    /// Adds the dynamic queue with this object id, or removes it.
    pub(crate) fn set_dynamic(
        &mut self,
        id: ItemId,
        queue: Option<DynamicQueue>,
        now: Instant,
        out: &mut Effects,
    ) {
        let ground = &mut Ground {
            types: &self.types,
            interfaces: &self.interfaces,
            numbers: &mut self.numbers,
            clock: dataplane::rule::Clock::at(Instant::ZERO, self.clock.local_seconds()),
        };
        match &queue {
            Some(queue) => {
                // Object ids are above the positions of configured queues.
                let position = if queue.first { 0 } else { id };
                self.simple.put(id, settings(queue), position, ground, out);
            }
            None => self.simple.take_away(id, ground, out),
        }
        match queue {
            Some(queue) => self.dynamic.insert(id, queue),
            None => self.dynamic.remove(&id),
        };
        self.settle(now, out);
    }

    /// Fills in the row of a dynamic queue; returns `None` for another object.
    pub(crate) fn dynamic_row(&self, id: ItemId, row: &mut Row) -> Option<()> {
        let queue = self.dynamic.get(&id)?;
        let target = match &queue.target {
            QueueTarget::Network(net) => Value::Prefix(*net),
            QueueTarget::Interface(name) => Value::Reference((&**name).into()),
        };
        row.set("name", Value::text(&*queue.name));
        row.set("target", Value::List(vec![target]));
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
        let times = [up, down]
            .map(|limits| Value::Time(i64::try_from(limits.burst_time.as_nanos()).unwrap_or(0)));
        row.set("burst-time", Value::Tuple("/", times.into()));
        let priorities = [up, down].map(|limits| Value::Number(limits.priority.into()));
        row.set("priority", Value::Tuple("/", priorities.into()));
        let kinds = queue.kinds.each_ref().map(|kind| {
            let kind = kind.clone().unwrap_or_else(usual_name);
            Value::Reference((&*kind).into())
        });
        row.set("queue", Value::Tuple("/", kinds.into()));
        row.flag("disabled", false);
        show::simple(self.simple.get(id), row);
        Some(())
    }
}

/// Parses limits as RouterOS writes them: `rx/tx`, bursts, thresholds, burst times, priority,
/// guaranteed rates. `rx` is the client's upload. Returns `None` for malformed text.
pub(crate) fn parse_limits(text: &str) -> Option<[Limits; 2]> {
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

/// Returns one side of a word `rx/tx`; a single value applies to both sides.
fn side_of(word: &str, side: usize) -> &str {
    let mut sides = word.split('/');
    let first = sides.next().unwrap_or_default();
    match side {
        0 => first,
        _ => sides.next().unwrap_or(first),
    }
}

/// Parses a rate in bits per second: `512k`, `10M`, `1G`.
fn rate(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_radius_servers_write_them() {
        let read = |text| {
            let limits = parse_limits(text)?;
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
