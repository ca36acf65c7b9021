//! Slaves of a bond: the state of their interfaces, and the state of the bond that follows from it.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeSet;

use dataplane::interface::Above;
use dataplane::out::{Out, OutId};
use frame::InterfaceId;
use machine::{Instant, Machine};
use service::bond::{Action, Event};
use service::lacp;
use service::neighbour::{Arp, Discovery, Family};
use wire::{EtherType, Mac, arp};

use super::read::Mode;
use super::{BondState, Bonds, Slave, hear};
use crate::compile::LayoutEntry;
use crate::feature::Effects;
use crate::feature::hear::{How, Outgoing};
use crate::intent::{Interface, ItemId};
use crate::kind::bond::Bond;
use crate::running::Running;

/// Maximum number of stacked interfaces on a bond whose addresses are announced.
const UPON: usize = 1024;

/// State of a slave's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: InterfaceId,
    pub(super) out: OutId,
    pub(super) mac: Mac,
    pub(super) runs: bool,
    /// Speed in Mbit/s; 0 if unknown.
    pub(super) megabits: u32,
    pub(super) full_duplex: bool,
    /// Maximum bytes behind the Ethernet header; 0 if unknown.
    carries: u32,
}

impl Link {
    /// Returns the link of an interface, if the bond receives its frames and can send by it.
    fn of(
        id: InterfaceId,
        laid: &LayoutEntry,
        bond: InterfaceId,
        running: &Running<'_>,
    ) -> Option<Self> {
        let is_slave = laid.above == Some((Above::Bond, bond));
        let is_link = matches!(
            laid.link.out.out(),
            Out::Port(_) | Out::Tunnel(_) | Out::Queue(_)
        );
        let is_whole = laid.link.tags.is_empty() && laid.station.is_none();
        if !(is_slave && is_link && is_whole) {
            return None;
        }
        let port = laid.port_name.as_ref();
        let port = port.and_then(|name| running.ports.get(name));
        Some(Self {
            id,
            out: laid.link.out,
            mac: laid.link.mac,
            runs: laid.link.running,
            megabits: port.map_or(0, |port| port.speed_mbps),
            full_duplex: port.and_then(|port| port.link.full_duplex) != Some(false),
            carries: laid.carries(),
        })
    }

    /// Returns the link as LACP needs it.
    pub(super) const fn lacp(&self) -> lacp::Link {
        lacp::Link {
            up: self.runs,
            megabits: self.megabits,
            full_duplex: self.full_duplex,
        }
    }
}

impl Bonds {
    /// Updates a bond and its slaves from the layout.
    pub(super) fn bring_up_to_date(
        &mut self,
        item: ItemId,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        let named = running.layout.named(&one.settings.interface.name);
        let laid = named.filter(|(_, laid)| laid.item == item && !laid.disabled);
        one.id = laid.map(|(id, _)| id);
        self.ids.retain(|_, (of, _)| *of != item);
        self.ids.extend(one.id.map(|id| (id, (item, 0))));
        let mut actions = SlaveActions::default();
        for at in 0..one.slaves.len() {
            let named = running.layout.named(&one.slaves[at].name).zip(one.id);
            let link = named.and_then(|((id, laid), bond)| Link::of(id, laid, bond, running));
            self.ids
                .extend(link.map(|link| (link.id, (item, one.slaves[at].number))));
            one.change_link(at, link, running.now, &mut actions, out);
        }
        one.find_mac(running.now, &mut actions.lacp);
        one.find_addresses(running);
        one.do_links(actions.links, out);
        one.do_lacp(actions.lacp, out);
        self.settle(item, running.now, out);
    }
}

/// Actions of the machines of links and of LACP, in order.
#[derive(Default)]
pub(super) struct SlaveActions {
    pub(super) links: Vec<Action>,
    pub(super) lacp: Vec<lacp::Action>,
}

impl BondState {
    /// Updates the list of slaves to the settings.
    pub(super) fn order_slaves(&mut self, now: Instant, actions: &mut SlaveActions) {
        let mut before = core::mem::take(&mut self.slaves);
        let wanted = self.settings.slaves.iter().take(dataplane::bond::SLAVES);
        for name in wanted {
            let known = before.iter().position(|slave| slave.name == *name);
            let slave = match known {
                Some(at) => before.remove(at),
                None => Slave {
                    name: name.clone(),
                    number: 0,
                    link: None,
                    heard: None,
                    collecting: false,
                    distributing: false,
                    received: 0,
                },
            };
            self.slaves.push(slave);
        }
        for gone in before {
            self.links
                .handle(Event::SlaveGone(gone.number), now, &mut actions.links);
            if let Some(lacp) = &mut self.lacp {
                lacp.handle(lacp::Event::PortGone(gone.number), now, &mut actions.lacp);
            }
        }
        let taken: BTreeSet<_> = self.slaves.iter().map(|slave| slave.number).collect();
        let mut free = (1..).filter(|number| !taken.contains(number));
        for slave in self.slaves.iter_mut().filter(|slave| slave.number == 0) {
            slave.number = free.next().unwrap_or_default();
        }
    }

    /// Sets the link of a slave; `None` if its interface is no slave of the bond now.
    fn change_link(
        &mut self,
        at: usize,
        link: Option<Link>,
        now: Instant,
        actions: &mut SlaveActions,
        out: &mut Effects,
    ) {
        let slave = &mut self.slaves[at];
        let number = slave.number;
        let before = core::mem::replace(&mut slave.link, link);
        let heard = link.filter(|_| self.lacp.is_some()).map(|link| link.id);
        let heard_before = core::mem::replace(&mut slave.heard, heard);
        if heard != heard_before {
            heard_before.into_iter().for_each(|id| hear(id, false, out));
            heard.into_iter().for_each(|id| hear(id, true, out));
        }
        if before == link {
            return;
        }
        match (before, link) {
            (_, None) => {
                (slave.collecting, slave.distributing) = (false, false);
                self.links
                    .handle(Event::SlaveGone(number), now, &mut actions.links);
                if let Some(lacp) = &mut self.lacp {
                    lacp.handle(lacp::Event::PortGone(number), now, &mut actions.lacp);
                }
            }
            (before, Some(link)) => {
                if before.is_none() {
                    self.links
                        .handle(Event::Slave(number, link.runs), now, &mut actions.links);
                }
                self.links
                    .handle(Event::Link(number, link.runs), now, &mut actions.links);
                if let Some(lacp) = &mut self.lacp {
                    lacp.handle(lacp::Event::Port(number), now, &mut actions.lacp);
                    lacp.handle(
                        lacp::Event::Link(number, link.lacp()),
                        now,
                        &mut actions.lacp,
                    );
                }
            }
        }
    }

    /// RouterOS: a bond has the link address of its first slave, unless `forced-mac-address` is
    /// set.
    fn find_mac(&mut self, now: Instant, actions: &mut Vec<lacp::Action>) {
        let of_slaves = self.slaves.iter().find_map(|slave| slave.link);
        let first = of_slaves.map(|link| link.mac);
        // A bond without slaves keeps its last address.
        self.mac = { self.settings.forced_mac }.or(first).unwrap_or(self.mac);
        let config = self.lacp_config();
        if let Some(lacp) = &mut self.lacp {
            lacp.handle(lacp::Event::Configure(config), now, actions);
        }
    }

    /// Collects the addresses of the bond and of interfaces stacked on the bond.
    fn find_addresses(&mut self, running: &Running<'_>) {
        (self.own, self.asks) = (Vec::new(), Vec::new());
        let Some(id) = self.id else { return };
        let mut upon = vec![(id, self.settings.interface.name.clone())];
        let mut at = 0;
        while let Some((id, name)) = upon.get(at).cloned() {
            at += 1;
            let own4 = running.addresses.of4(id).map(|(addr, _)| IpAddr::V4(addr));
            let own6 = running.addresses.of6(id).map(|(addr, _)| addr);
            let own6 = own6.filter(|addr| running.is_in_use(id, *addr));
            let own = own4.chain(own6.map(IpAddr::V6));
            self.own.extend(own.map(|address| (id, address)));
            let on = running.intent.interfaces.on(&name);
            let on = on.filter_map(|(_, on)| Some((running.layout.named(&on.name)?.0, on)));
            let on = on.map(|(id, on)| (id, on.name.clone()));
            upon.extend(on.take(UPON.saturating_sub(upon.len())));
        }
        let source = |to| running.source_on4(id, to, to);
        let targets = self.settings.targets.iter();
        self.asks = targets
            .map(|to| (source(*to).unwrap_or(Ipv4Addr::UNSPECIFIED), *to))
            .collect();
    }

    /// Returns the bond as an interface.
    pub(super) fn interface(&self) -> Interface {
        let mut interface = self.settings.interface.clone();
        interface.kind = Bond {
            mac: (self.mac != Mac::ZERO).then_some(self.mac),
            is_up: self.is_up(),
        }
        .into();
        interface
    }

    /// Returns the lowest L2 MTU of the slaves, in bytes; 0 if unknown.
    pub(super) fn carried(&self) -> u32 {
        let carries = self.slaves.iter().filter_map(|slave| slave.link);
        let carries = carries.map(|link| link.carries);
        carries.filter(|bytes| *bytes > 0).min().unwrap_or(0)
    }

    /// Whether at least `min-links` slaves carry frames.
    fn is_up(&self) -> bool {
        let carry = self.slaves.iter().filter(|slave| self.carries(slave));
        carry.count() >= self.settings.min_links.max(1)
    }

    /// Whether a slave may send frames.
    pub(super) fn carries(&self, slave: &Slave) -> bool {
        let lacp = self.settings.mode != Mode::Lacp || slave.distributing;
        slave.link.is_some() && self.links.is_up(slave.number) && lacp
    }

    /// Announces the bond's addresses by ARP and Neighbor Discovery after a change of the active
    /// slave.
    pub(super) fn announce(&self, out: &mut Effects) {
        for (id, address) in &self.own {
            let frame = match address {
                IpAddr::V4(address) => Arp::announce(self.mac, *address, true),
                IpAddr::V6(address) => Discovery::announce(self.mac, *address, true),
            };
            out.send(Outgoing::frame(*id, frame));
        }
    }

    /// Sends ARP monitoring requests: by the active slave if the mode has one, otherwise by each
    /// running slave.
    pub(super) fn ask(&self, out: &mut Effects) {
        let active = self.links.active();
        let only = active.filter(|_| self.settings.mode.has_active());
        for slave in &self.slaves {
            let Some(link) = slave.link.filter(|link| link.runs) else {
                continue;
            };
            if only.is_some_and(|active| active != slave.number) {
                continue;
            }
            for (source, target) in &self.asks {
                let request = arp::Repr {
                    operation: arp::Operation::REQUEST,
                    sender_mac: self.mac,
                    sender: *source,
                    target_mac: Mac::ZERO,
                    target: *target,
                };
                out.send(Outgoing {
                    interface: link.id,
                    bytes: request.to_bytes().to_vec(),
                    how: How::FrameFrom(self.mac, Mac::BROADCAST, EtherType::ARP),
                });
            }
        }
    }
}
