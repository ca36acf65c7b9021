//! Gateway checks: which gateways are watched, by which next hops they are asked, and which packets count as
//! answers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeSet;

use dataplane::table::NextHopId;
use frame::InterfaceId;
use machine::Machine;
use service::gateway_check::{Action, Event, How, Reachability};
use service::neighbour;
use wire::{Protocol, icmpv4, icmpv6, ipv4, ipv6};

use super::Control;
use super::half::TimerKey;
use crate::rib::{Check, Family, Gateway, Rib, Target, V4, V6};

/// A gateway that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Checked {
    /// Of IPv4 routes.
    V4(Gateway<V4>),
    /// Of IPv6 routes.
    V6(Gateway<V6>),
}

impl Checked {
    /// Its address.
    fn address(&self) -> Option<IpAddr> {
        match self {
            Self::V4(gateway) => address_of(gateway).map(IpAddr::V4),
            Self::V6(gateway) => address_of(gateway).map(IpAddr::V6),
        }
    }
}

impl Control {
    /// Watches what routes want watched, and nothing else.
    pub(super) fn watch_gateways(&mut self) {
        let wanted: BTreeSet<_> = wanted(&self.v4.rib, Checked::V4)
            .chain(wanted(&self.v6.rib, Checked::V6))
            .collect();
        if wanted == self.watched {
            return;
        }
        let watched = core::mem::replace(&mut self.watched, wanted.clone());
        for (gateway, how) in watched.difference(&wanted).copied() {
            self.feed_check(Event::Unwatch { gateway, how });
            if how == How::Ping {
                self.asked.remove(&gateway);
            }
            // Nobody asks any more: it counts as alive.
            self.judge(gateway, how, true);
        }
        self.v4.settle(&mut self.fib, &mut self.features.log);
        self.v6.settle(&mut self.fib, &mut self.features.log);
        for (gateway, how) in wanted.difference(&watched).copied() {
            self.feed_check(Event::Watch { gateway, how });
        }
    }

    /// Has gateways asked out of turn that lead somewhere again.
    pub(super) fn ask_found(&mut self) {
        let found4 = self.v4.rib.take_found().into_iter();
        let found4 = found4.map(|(gateway, check)| (Checked::V4(gateway), check));
        let found6 = self.v6.rib.take_found().into_iter();
        let found6 = found6.map(|(gateway, check)| (Checked::V6(gateway), check));
        for (gateway, check) in found4.chain(found6) {
            if let Some(how) = how_of(check) {
                let event = Event::Found { gateway, how };
                self.check.handle(event, self.now, &mut Vec::new());
            }
        }
        let deadline = self.check.deadline().map(|(at, _)| at);
        self.timers.set(TimerKey::Check, deadline);
    }

    fn feed_check(&mut self, event: Event<Checked>) {
        let mut actions = Vec::new();
        self.check.handle(event, self.now, &mut actions);
        self.carry_out_check(actions);
    }

    pub(super) fn tick_check(&mut self) {
        let mut actions = Vec::new();
        self.check.tick(self.now, &mut actions);
        self.carry_out_check(actions);
    }

    fn carry_out_check(&mut self, actions: Vec<Action<Checked>>) {
        for action in actions {
            match action {
                Action::Ask { gateway, how } => self.ask_gateway(gateway, how),
                Action::Changed {
                    gateway,
                    how,
                    reachability,
                } => {
                    let alive = reachability == Reachability::Reachable;
                    if let Some(address) = gateway.address() {
                        let state = if alive { "reachable" } else { "unreachable" };
                        let message = format!("gateway {address} is {state}");
                        self.features.log.add("route,info", message);
                    }
                    self.judge(gateway, how, alive);
                    self.v4.settle(&mut self.fib, &mut self.features.log);
                    self.v6.settle(&mut self.fib, &mut self.features.log);
                }
            }
        }
        // Who answers may be the way to others that are asked.
        self.ask_found();
    }

    fn judge(&mut self, gateway: Checked, how: How, alive: bool) {
        let check = check_of(how);
        match gateway {
            Checked::V4(gateway) => self.v4.rib.set_alive(gateway, check, alive),
            Checked::V6(gateway) => self.v6.rib.set_alive(gateway, check, alive),
        }
    }

    /// Asks a gateway where its routes lead, and nowhere else: what another uplink says of it is no answer.
    /// Where none of them leads anywhere, nothing is asked, and it does not answer. Behind a route with
    /// several ways it is asked by each of them, and any answer is one: who wants a way taken out that is
    /// dead has that way's own gateway checked.
    fn ask_gateway(&mut self, gateway: Checked, how: How) {
        match (gateway, how) {
            (Checked::V4(gateway), How::Ping) => self.ping4(gateway),
            (Checked::V6(gateway), How::Ping) => self.ping6(gateway),
            (_, How::Arp) => {
                for (id, address) in self.asked_by_arp(gateway) {
                    match address {
                        IpAddr::V4(address) => {
                            self.feed4(id, neighbour::Event::Probe { address });
                        }
                        IpAddr::V6(address) => {
                            self.feed6(id, neighbour::Event::Probe { address });
                        }
                    }
                }
            }
        }
    }

    /// The neighbours that are asked for a gateway.
    fn asked_by_arp(&self, gateway: Checked) -> Vec<(InterfaceId, IpAddr)> {
        match gateway {
            Checked::V4(gateway) => {
                let ways = ways_to(&self.v4.rib, gateway, Check::Arp);
                ways.map(|(id, address, _)| (id, address.into())).collect()
            }
            Checked::V6(gateway) => {
                let ways = ways_to(&self.v6.rib, gateway, Check::Arp);
                ways.map(|(id, address, _)| (id, address.into())).collect()
            }
        }
    }

    fn ping4(&mut self, gateway: Gateway<V4>) {
        let Some(to) = address_of(&gateway) else {
            return;
        };
        let ways: Vec<_> = ways_to(&self.v4.rib, gateway, Check::Ping).collect();
        let mut echo = Vec::new();
        let message = icmpv4::Message::EchoRequest {
            id: self.check_id,
            seq: self.ask_by(Checked::V4(gateway)),
            data: &[0; 8],
        };
        message.emit(&mut echo);
        for (id, next, hop) in ways {
            if let Some(source) = self.source_on4(id, next, to) {
                let header = ipv4::Repr::new(Protocol::ICMP, source, to);
                let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
                self.probe(&packet, hop);
            }
        }
    }

    fn ping6(&mut self, gateway: Gateway<V6>) {
        let Some(to) = address_of(&gateway) else {
            return;
        };
        let ways: Vec<_> = ways_to(&self.v6.rib, gateway, Check::Ping).collect();
        let message = icmpv6::Message::EchoRequest {
            id: self.check_id,
            seq: self.ask_by(Checked::V6(gateway)),
            data: &[0; 8],
        };
        for (id, _, hop) in ways {
            if let Some(source) = self.source_on6(id, to) {
                let mut echo = Vec::new();
                message.emit(source, to, &mut echo);
                let header = ipv6::Repr::new(Protocol::ICMPV6, source, to);
                let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
                self.probe(&packet, hop);
            }
        }
    }

    /// The number of the next ping of a gateway, by which its answer is known: several may have one address.
    fn ask_by(&mut self, gateway: Checked) -> u16 {
        let seq = self.next_id();
        self.asked.insert(gateway, seq);
        seq
    }

    /// Takes an echo reply that a check waits for; says whether it is one.
    pub(super) fn hear_echo_reply(&mut self, from: IpAddr, (id, seq): (u16, u16)) -> bool {
        if id != self.check_id {
            return false;
        }
        let mut asked = self.asked.iter();
        let gateway = asked.find(|(gateway, by)| **by == seq && gateway.address() == Some(from));
        if let Some((gateway, _)) = gateway {
            let (gateway, how) = (*gateway, How::Ping);
            self.feed_check(Event::Answered { gateway, how });
        }
        true
    }

    /// A neighbour answered on this interface.
    pub(super) fn answered(&mut self, from: IpAddr, on: InterfaceId) {
        let asked = self.watched.iter().filter(|(_, how)| *how == How::Arp);
        let asked = asked.map(|(gateway, _)| *gateway);
        let is_it = |gateway: &Checked| self.asked_by_arp(*gateway).contains(&(on, from));
        let answered: Vec<_> = asked.filter(is_it).collect();
        for gateway in answered {
            let how = How::Arp;
            self.feed_check(Event::Answered { gateway, how });
        }
    }
}

fn wanted<F: Family>(
    rib: &Rib<F>,
    checked: impl Fn(Gateway<F>) -> Checked,
) -> impl Iterator<Item = (Checked, How)> {
    rib.checked().filter_map(move |(gateway, check)| {
        let how = how_of(check)?;
        address_of(&gateway).map(|_| (checked(gateway), how))
    })
}

fn how_of(check: Check) -> Option<How> {
    match check {
        Check::Ping => Some(How::Ping),
        Check::Arp => Some(How::Arp),
        // As no BFD runs here, nothing is asked, and the gateway counts as alive.
        Check::Bfd | Check::None => None,
    }
}

fn address_of<F: Family>(gateway: &Gateway<F>) -> Option<F::Addr> {
    match gateway {
        Gateway::Address { addr, .. } | Gateway::On(addr, _) => Some(*addr),
        _ => None,
    }
}

/// Where a gateway is asked: the neighbours there, and for pings the next hops that lead there.
fn ways_to<F: Family>(
    rib: &Rib<F>,
    gateway: Gateway<F>,
    check: Check,
) -> impl Iterator<Item = (InterfaceId, F::Addr, NextHopId)> {
    let ways = rib.ways_to(gateway, check);
    ways.filter_map(|(way, hop)| match way {
        Target::Neighbour(id, address) => Some((id, address, hop)),
        _ => None,
    })
}

fn check_of(how: How) -> Check {
    match how {
        How::Ping => Check::Ping,
        How::Arp => Check::Arp,
    }
}

/// The sender of an echo reply, its identifier and its number.
pub(super) fn echo_reply4(packet: &ipv4::Packet<'_>) -> Option<(Ipv4Addr, (u16, u16))> {
    let icmp = icmpv4::Packet::new_verified(packet.payload()).ok()?;
    match icmp.message() {
        icmpv4::Message::EchoReply { id, seq, .. } => Some((packet.src(), (id, seq))),
        _ => None,
    }
}

/// The same of IPv6.
pub(super) fn echo_reply6(
    packet: &ipv6::Packet<'_>,
    upper: &[u8],
) -> Option<(Ipv6Addr, (u16, u16))> {
    let icmp = icmpv6::Packet::new_verified(upper, packet.src(), packet.dst()).ok()?;
    match icmp.message() {
        icmpv6::Message::EchoReply { id, seq, .. } => Some((packet.src(), (id, seq))),
        _ => None,
    }
}
