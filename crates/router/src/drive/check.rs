//! Gateway checks: which gateways are watched, how they are asked, and what an answer is.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeSet;

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
            // Nobody asks any more: it counts as alive.
            self.judge(gateway, how, true);
        }
        self.v4.settle(&mut self.fib, &mut self.log);
        self.v6.settle(&mut self.fib, &mut self.log);
        for (gateway, how) in wanted.difference(&watched).copied() {
            self.feed_check(Event::Watch { gateway, how });
        }
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
                        self.log.add("route,info", message);
                    }
                    self.judge(gateway, how, alive);
                    self.v4.settle(&mut self.fib, &mut self.log);
                    self.v6.settle(&mut self.fib, &mut self.log);
                }
            }
        }
        let deadline = self.check.deadline().map(|(at, _)| at);
        self.timers.set(TimerKey::Check, deadline);
    }

    fn judge(&mut self, gateway: Checked, how: How, alive: bool) {
        let check = match how {
            How::Ping => Check::Ping,
            How::Arp => Check::Arp,
        };
        match gateway {
            Checked::V4(gateway) => self.v4.rib.set_alive(gateway, check, alive),
            Checked::V6(gateway) => self.v6.rib.set_alive(gateway, check, alive),
        }
    }

    fn ask_gateway(&mut self, gateway: Checked, how: How) {
        match (gateway, how) {
            (Checked::V4(gateway), How::Arp) => {
                if let Some(Target::Neighbour(id, address)) = way_to(&self.v4.rib, &gateway) {
                    self.feed4(id, neighbour::Event::Probe { address });
                }
            }
            (Checked::V6(gateway), How::Arp) => {
                if let Some(Target::Neighbour(id, address)) = way_to(&self.v6.rib, &gateway) {
                    self.feed6(id, neighbour::Event::Probe { address });
                }
            }
            (Checked::V4(gateway), How::Ping) => self.ping4(&gateway),
            (Checked::V6(gateway), How::Ping) => self.ping6(&gateway),
        }
    }

    fn ping4(&mut self, gateway: &Gateway<V4>) {
        let Some(to) = address_of(gateway) else {
            return;
        };
        let Some(source) = self.source4(to) else {
            return;
        };
        let mut echo = Vec::new();
        let message = icmpv4::Message::EchoRequest {
            id: self.check_id,
            seq: self.next_id(),
            data: &[0; 8],
        };
        message.emit(&mut echo);
        let header = ipv4::Repr::new(Protocol::ICMP, source, to);
        let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
        let hint = interface_of(gateway);
        self.output(&packet, hint, 0);
    }

    fn ping6(&mut self, gateway: &Gateway<V6>) {
        let Some(to) = address_of(gateway) else {
            return;
        };
        let hint = interface_of(gateway);
        let Some(source) = self.source6(to, hint) else {
            return;
        };
        let mut echo = Vec::new();
        let message = icmpv6::Message::EchoRequest {
            id: self.check_id,
            seq: self.next_id(),
            data: &[0; 8],
        };
        message.emit(source, to, &mut echo);
        let header = ipv6::Repr::new(Protocol::ICMPV6, source, to);
        let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
        self.output(&packet, hint, 0);
    }

    /// Takes an echo reply that a check waits for; says whether it is one.
    pub(super) fn hear_echo_reply(&mut self, from: IpAddr, id: u16) -> bool {
        if id != self.check_id {
            return false;
        }
        self.answered(from, None, How::Ping);
        true
    }

    /// A gateway answered: on this interface, where that is known.
    pub(super) fn answered(&mut self, from: IpAddr, on: Option<InterfaceId>, how: How) {
        let is_it = |gateway: &Checked| {
            let fits = match (gateway, on) {
                (Checked::V4(Gateway::On(_, id)), Some(on)) => *id == on,
                (Checked::V6(Gateway::On(_, id)), Some(on)) => *id == on,
                _ => true,
            };
            gateway.address() == Some(from) && fits
        };
        let answered: Vec<_> = self
            .watched
            .iter()
            .filter(|(gateway, watched_how)| *watched_how == how && is_it(gateway))
            .map(|(gateway, _)| *gateway)
            .collect();
        for gateway in answered {
            self.feed_check(Event::Answered { gateway, how });
        }
    }
}

fn wanted<F: Family>(
    rib: &Rib<F>,
    checked: impl Fn(Gateway<F>) -> Checked,
) -> impl Iterator<Item = (Checked, How)> {
    rib.checked().filter_map(move |(gateway, check)| {
        let how = match check {
            Check::Ping => How::Ping,
            Check::Arp => How::Arp,
            // As no BFD runs here, nothing is asked, and the gateway counts as alive.
            Check::Bfd | Check::None => return None,
        };
        address_of(&gateway).map(|_| (checked(gateway), how))
    })
}

fn address_of<F: Family>(gateway: &Gateway<F>) -> Option<F::Addr> {
    match gateway {
        Gateway::Address { addr, .. } | Gateway::On(addr, _) => Some(*addr),
        _ => None,
    }
}

fn interface_of<F: Family>(gateway: &Gateway<F>) -> InterfaceId {
    match gateway {
        Gateway::On(_, interface) => *interface,
        _ => InterfaceId::NONE,
    }
}

/// Where a gateway is asked, whether or not it counts as alive.
fn way_to<F: Family>(rib: &Rib<F>, gateway: &Gateway<F>) -> Option<Target<F>> {
    match gateway {
        Gateway::Address { addr, table } => rib.lookup(*table, *addr)?.paths.first().copied(),
        Gateway::On(addr, interface) => Some(Target::Neighbour(*interface, *addr)),
        _ => None,
    }
}

/// The sender and the identifier of an echo reply.
pub(super) fn echo_reply4(packet: &ipv4::Packet<'_>) -> Option<(Ipv4Addr, u16)> {
    let icmp = icmpv4::Packet::new_verified(packet.payload()).ok()?;
    match icmp.message() {
        icmpv4::Message::EchoReply { id, .. } => Some((packet.src(), id)),
        _ => None,
    }
}

/// The same of IPv6.
pub(super) fn echo_reply6(packet: &ipv6::Packet<'_>, upper: &[u8]) -> Option<(Ipv6Addr, u16)> {
    let icmp = icmpv6::Packet::new_verified(upper, packet.src(), packet.dst()).ok()?;
    match icmp.message() {
        icmpv6::Message::EchoReply { id, .. } => Some((packet.src(), id)),
        _ => None,
    }
}
