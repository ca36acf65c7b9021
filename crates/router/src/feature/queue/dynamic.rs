//! Dynamic simple queues, which features create as objects: of DHCP leases with `rate-limit`, of sessions.

use machine::{Duration, Instant};
use menu::{Row, Value};
use queue::Limits;
use schema::RateLimit;

use super::read::{Side, Simple, SimpleTarget, network};
use super::{BranchInputs, Queues, show, usual_name};
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
        QueueTarget::Network(net) => SimpleTarget::Network(network(net)),
        QueueTarget::Interface(name) => SimpleTarget::Interface(name.clone()),
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
        let ground = &mut BranchInputs {
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

/// Converts a client's rate limit to the limits of its queue: upload, download.
pub(crate) fn queue_limits(limit: RateLimit) -> [Limits; 2] {
    [limit.upload, limit.download].map(|of| Limits {
        limit_at: of.min_rate,
        max_limit: of.rate,
        burst_limit: of.burst_rate,
        burst_threshold: of.burst_threshold,
        burst_time: Duration::from_secs(of.burst_seconds),
        priority: of.priority,
        ..Limits::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_becomes_the_limits_of_a_queue() {
        let limit = RateLimit::parse("1M/2M 3M/4M 1M/1M 5/6 7 100k/200k").expect("a rate limit");
        let upload = Limits {
            limit_at: 100_000,
            max_limit: 1_000_000,
            burst_limit: 3_000_000,
            burst_threshold: 1_000_000,
            burst_time: Duration::from_secs(5),
            bucket: 100,
            priority: 7,
        };
        let download = Limits {
            limit_at: 200_000,
            max_limit: 2_000_000,
            burst_limit: 4_000_000,
            burst_time: Duration::from_secs(6),
            ..upload
        };
        assert_eq!(queue_limits(limit), [upload, download]);
    }
}
