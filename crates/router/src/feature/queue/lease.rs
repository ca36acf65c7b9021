//! Dynamic simple queues of DHCP leases with `rate-limit`.

use core::ops::ControlFlow;
use std::net::IpAddr;

use ipnet::IpNet;
use machine::Instant;
use menu::{Id, Row, RowFilter, Value};
use queue::{Limits, Target};

use super::leased::LeaseQueue;
use super::read::{Side, Simple, Whom};
use super::{Ground, Queues, show, usual_name};
use crate::feature::Effects;
use crate::live::give;
use crate::object::DYNAMIC;

impl LeaseQueue {
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

impl Queues {
    /// Adds, changes or removes the queue of a lease.
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

    /// Passes the rows of leases' queues to `each`.
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
