//! Gateway checks: selects the next hops that probes leave by, and passes the results on to routes.

use core::net::IpAddr;

use dataplane::table::NextHopId;
use frame::InterfaceId;
use service::gateway_check::How;
use service::neighbour;
use wire::{Protocol, icmpv4, icmpv6, ipv4, ipv6};

use super::Control;
use crate::feature::Effects;
use crate::feature::check::{CheckRequest, Checked};
use crate::rib::{Check, Family, Gateway, Rib, Target, V4, V6};

impl Control {
    /// Starts and stops checks of gateways by the changes of routes.
    pub(super) fn watch_gateways(&mut self) {
        let of_ipv4 = changes(&mut self.v4.rib, Checked::V4);
        let of_ipv6 = changes(&mut self.v6.rib, Checked::V6);
        let mut out = Effects::default();
        for (gateway, how, is_needed) in of_ipv4.into_iter().chain(of_ipv6) {
            let checks = &mut self.features.checks;
            match is_needed {
                true => checks.watch(gateway, how, self.now, &mut out),
                false => checks.unwatch(gateway, how, self.now, &mut out),
            }
        }
        self.carry_out(out);
    }

    /// Probes gateways at once whose path was restored.
    pub(super) fn ask_found(&mut self) {
        let found4 = self.v4.rib.take_found().into_iter();
        let found4 = found4.map(|(gateway, check)| (Checked::V4(gateway), check));
        let found6 = self.v6.rib.take_found().into_iter();
        let found6 = found6.map(|(gateway, check)| (Checked::V6(gateway), check));
        for (gateway, check) in found4.chain(found6) {
            if let Some(how) = how_of(check) {
                self.features.checks.found(gateway, how, self.now);
            }
        }
    }

    /// Carries out a request of gateway checks.
    pub(super) fn check_gateway(&mut self, wanted: CheckRequest) {
        match wanted {
            CheckRequest::Ask {
                gateway,
                how,
                numbers,
            } => self.ask_gateway(gateway, how, numbers),
            CheckRequest::Judge {
                gateway,
                how,
                alive,
            } => {
                self.judge(gateway, how, alive);
                self.settle_routes();
                // A gateway that answers may lie on the path to other checked gateways.
                self.ask_found();
            }
        }
    }

    /// Brings the FIB up to date with the routes. Tunnels and IPsec look up the changed paths again.
    pub(super) fn settle_routes(&mut self) {
        self.v4.settle(&mut self.fib, &mut self.features.log);
        self.v6.settle(&mut self.fib, &mut self.features.log);
        let (moved4, moved6) = (self.v4.rib.take_moved(), self.v6.rib.take_moved());
        let (tunnels, ipsec) = (&mut self.features.tunnels, &mut self.features.ipsec);
        for paths in [tunnels.paths_mut(), ipsec.paths_mut()] {
            paths.routes_changed(&moved4);
            paths.routes_changed(&moved6);
        }
    }

    fn judge(&mut self, gateway: Checked, how: How, alive: bool) {
        let check = check_of(how);
        match gateway {
            Checked::V4(gateway) => self.v4.rib.set_alive(gateway, check, alive),
            Checked::V6(gateway) => self.v6.rib.set_alive(gateway, check, alive),
        }
    }

    /// Probes a gateway by the next hops of its routes only: an answer over another uplink does not count. A gateway
    /// without a next hop is not probed, and so does not answer. Behind a multipath route each next hop gets a probe,
    /// and any answer counts. To remove a single dead next hop, administrators check the gateway of that next hop.
    fn ask_gateway(&mut self, gateway: Checked, how: How, numbers: (u16, u16)) {
        let (id, seq) = numbers;
        match (gateway, how) {
            (Checked::V4(gateway), How::Ping) => self.ping4(gateway, id, seq),
            (Checked::V6(gateway), How::Ping) => self.ping6(gateway, id, seq),
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

    /// Returns the neighbours that the ARP probes of a gateway go to.
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

    fn ping4(&mut self, gateway: Gateway<V4>, id: u16, seq: u16) {
        let Some(to) = gateway.address() else {
            return;
        };
        let ways: Vec<_> = ways_to(&self.v4.rib, gateway, Check::Ping).collect();
        let mut echo = Vec::new();
        let message = icmpv4::Message::EchoRequest {
            id,
            seq,
            data: &[0; 8],
        };
        message.emit(&mut echo);
        for (on, next, hop) in ways {
            if let Some(source) = self.running().source_on4(on, next, to) {
                let header = ipv4::Repr::new(Protocol::ICMP, source, to);
                let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
                self.probe(&packet, hop);
            }
        }
    }

    fn ping6(&mut self, gateway: Gateway<V6>, id: u16, seq: u16) {
        let Some(to) = gateway.address() else {
            return;
        };
        let ways: Vec<_> = ways_to(&self.v6.rib, gateway, Check::Ping).collect();
        let message = icmpv6::Message::EchoRequest {
            id,
            seq,
            data: &[0; 8],
        };
        for (on, _, hop) in ways {
            if let Some(source) = self.running().source_on6(on, to) {
                let mut echo = Vec::new();
                message.emit(source, to, &mut echo);
                let header = ipv6::Repr::new(Protocol::ICMPV6, source, to);
                let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
                self.probe(&packet, hop);
            }
        }
    }

    /// Records the answer of a neighbour on this interface.
    pub(super) fn answered(&mut self, from: IpAddr, on: InterfaceId) {
        let watched = self.features.checks.watched();
        let asked = watched.filter(|(_, how)| *how == How::Arp);
        let asked = asked.map(|(gateway, _)| gateway);
        let is_it = |gateway: &Checked| self.asked_by_arp(*gateway).contains(&(on, from));
        let answered: Vec<_> = asked.filter(is_it).collect();
        let mut out = Effects::default();
        for gateway in answered {
            let checks = &mut self.features.checks;
            checks.answered(gateway, How::Arp, self.now, &mut out);
        }
        self.carry_out(out);
    }
}

/// Returns the gateways whose checks begin (true) or end.
fn changes<F: Family>(
    rib: &mut Rib<F>,
    checked: impl Fn(Gateway<F>) -> Checked,
) -> Vec<(Checked, How, bool)> {
    let changes = rib.take_check_changes().into_iter();
    let changes = changes.filter(|(gateway, ..)| gateway.address().is_some());
    changes
        .filter_map(|(gateway, check, is_needed)| {
            Some((checked(gateway), how_of(check)?, is_needed))
        })
        .collect()
}

fn how_of(check: Check) -> Option<How> {
    match check {
        Check::Ping => Some(How::Ping),
        Check::Arp => Some(How::Arp),
        // No BFD runs here: the gateway gets no probe and counts as alive.
        Check::Bfd | Check::None => None,
    }
}

/// Returns the targets of the probes of a gateway: its neighbours, and for pings the next hops that lead to the
/// gateway.
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
