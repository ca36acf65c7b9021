//! Gateway checks: the watched gateways, their probes, and the matching of answers. Control sends
//! the probes, since only routes know the next hops.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::Service;
use machine::{Instant, Machine as _, Rng};
use service::gateway_check::{Action, Event, GatewayCheck, How, Reachability};
use service::ping;

use super::echo::replies;
pub(crate) use super::gateway::{CheckRequest, Checked};
use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature};
use crate::running::Running;

/// The gateway checks of all routes.
#[derive(Debug)]
pub(crate) struct Checks {
    machine: GatewayCheck<Checked>,
    /// Watched gateways with the method of their probes.
    watched: BTreeSet<(Checked, How)>,
    /// Sequence number of the last echo request to each gateway. It tells apart gateways with one
    /// address.
    asked: BTreeMap<Checked, u16>,
    /// Identifier of echo requests.
    id: u16,
    seq: u16,
}

impl Checks {
    /// Returns an instance without gateways; `id` is the identifier of echo requests.
    pub(crate) fn new(id: u16, rng: &mut Rng) -> Self {
        Self {
            machine: GatewayCheck::new(rng.next_u64()),
            watched: BTreeSet::new(),
            asked: BTreeMap::new(),
            id,
            seq: 0,
        }
    }

    /// Returns the watched gateways.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (Checked, How)> {
        self.watched.iter().copied()
    }

    /// Starts the check of a gateway.
    pub(crate) fn watch(&mut self, gateway: Checked, how: How, now: Instant, out: &mut Effects) {
        if self.watched.insert((gateway, how)) {
            self.feed(Event::Watch { gateway, how }, now, out);
        }
    }

    /// Ends the check of a gateway, which counts as alive from now on.
    pub(crate) fn unwatch(&mut self, gateway: Checked, how: How, now: Instant, out: &mut Effects) {
        if !self.watched.remove(&(gateway, how)) {
            return;
        }
        self.feed(Event::Unwatch { gateway, how }, now, out);
        if how == How::Ping {
            self.asked.remove(&gateway);
        }
        out.push(Effect::Gateway(CheckRequest::Judge {
            gateway,
            how,
            alive: true,
        }));
    }

    /// Probes a gateway out of turn after a path to it returned.
    pub(crate) fn found(&mut self, gateway: Checked, how: How, now: Instant) {
        let event = Event::Found { gateway, how };
        self.machine.handle(event, now, &mut Vec::new());
    }

    /// Handles the answer of a gateway.
    pub(crate) fn answered(&mut self, gateway: Checked, how: How, now: Instant, out: &mut Effects) {
        self.feed(Event::Answered { gateway, how }, now, out);
    }

    fn feed(&mut self, event: Event<Checked>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.want(actions, out);
    }

    fn want(&mut self, actions: Vec<Action<Checked>>, out: &mut Effects) {
        for action in actions {
            let wanted = match action {
                Action::Ask { gateway, how } => CheckRequest::Ask {
                    gateway,
                    how,
                    numbers: (self.id, self.number(gateway, how)),
                },
                Action::Changed {
                    gateway,
                    how,
                    reachability,
                } => {
                    let alive = reachability == Reachability::Reachable;
                    if let Some(address) = gateway.address() {
                        let state = if alive { "reachable" } else { "unreachable" };
                        out.log("route,info", format!("gateway {address} is {state}"));
                    }
                    CheckRequest::Judge {
                        gateway,
                        how,
                        alive,
                    }
                }
            };
            out.push(Effect::Gateway(wanted));
        }
    }

    /// Returns the sequence number of the next echo request to a gateway.
    fn number(&mut self, gateway: Checked, how: How) -> u16 {
        self.seq = self.seq.wrapping_add(1);
        if how == How::Ping {
            self.asked.insert(gateway, self.seq);
        }
        self.seq
    }
}

impl Feature for Checks {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        vec![replies()]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let reply = ping::parse_response(heard.packet())
            .filter(|said| said.outcome == ping::Outcome::Reply);
        let Some(reply) = reply.filter(|reply| reply.id == self.id) else {
            return ReceiveOutcome::NotMine;
        };
        let of_it = |(gateway, by): &(&Checked, &u16)| {
            **by == reply.seq && gateway.address() == Some(reply.to)
        };
        if let Some((gateway, _)) = self.asked.iter().find(of_it) {
            self.answered(*gateway, How::Ping, running.now, out);
        }
        ReceiveOutcome::Taken
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.want(actions, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, _)| at)
    }
}
