//! IGMP reports of joined IPv4 groups, on every link.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Instant, Machine, Rng};
use service::igmp::{Action, Event, Host};
use wire::Protocol;

use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effects, Feature};
use crate::drive::timers::Timers;
use crate::running::Running;

/// Limit of IGMP queries: queriers send one every two minutes (RFC 3376, 8.2).
const QUERIES: Rate = Rate {
    per_second: 1_000,
    burst: 128,
};

/// IGMP hosts of the links with joined groups.
#[derive(Debug)]
pub(crate) struct Links4 {
    links: BTreeMap<InterfaceId, Host>,
    timers: Timers<InterfaceId>,
    rng: Rng,
}

impl Links4 {
    /// Returns an instance without links. All jitter is derived from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            links: BTreeMap::new(),
            timers: Timers::default(),
            rng: Rng::seeded(seed),
        }
    }

    /// Starts or stops to report a group on a link.
    pub(crate) fn join(
        &mut self,
        id: InterfaceId,
        group: Ipv4Addr,
        joins: bool,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if !joins {
            return self.feed(id, Event::Leave { group }, running.now, out);
        }
        let rng = &mut self.rng;
        { self.links.entry(id) }.or_insert_with(|| Host::new(rng.next_u64()));
        self.change(id, running, out);
        self.feed(id, Event::Join { group }, running.now, out);
    }

    /// Updates a link from the layout.
    fn change(&mut self, id: InterfaceId, running: &Running<'_>, out: &mut Effects) {
        let laid = running.layout.interfaces.get(&id);
        let is_up = laid.is_some_and(|laid| laid.link.running);
        let address = running.first4(id);
        self.feed(id, Event::Source { address }, running.now, out);
        let event = if is_up {
            Event::LinkUp
        } else {
            Event::LinkDown
        };
        self.feed(id, event, running.now, out);
    }

    fn feed(&mut self, id: InterfaceId, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        if let Some(link) = self.links.get_mut(&id) {
            link.handle(event, now, &mut actions);
        }
        self.do_(id, actions, out);
    }

    fn do_(&mut self, id: InterfaceId, actions: Vec<Action>, out: &mut Effects) {
        for Action::Send(frame) in actions {
            out.send(Outgoing::frame(id, frame));
        }
        let deadline = self.links.get(&id).and_then(Machine::deadline);
        self.timers.set(id, deadline.map(|(at, _)| at));
    }
}

impl Feature for Links4 {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        let igmp = Match::Protocol {
            ipv6: false,
            protocol: Protocol::IGMP.0,
        };
        vec![Service::new("igmp", [igmp], QUERIES)]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let event = Event::Received {
            packet: heard.packet(),
        };
        self.feed(heard.interface, event, running.now, out);
        // Sockets of the host plane may have joined groups, too.
        ReceiveOutcome::NotMine
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        for id in others {
            if !self.links.contains_key(id) {
                continue;
            }
            match running.layout.interfaces.contains_key(id) {
                true => self.change(*id, running, out),
                false => {
                    self.links.remove(id);
                    self.timers.set(*id, None);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(id) = self.timers.due(now) {
            let mut actions = Vec::new();
            if let Some(link) = self.links.get_mut(&id) {
                link.tick(now, &mut actions);
            }
            self.do_(id, actions, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }
}
