//! The slaves of a bond: what is true of their interfaces, and what the bond itself is by that.

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
use super::{Bonds, One, Slave, hear};
use crate::compile::Laid;
use crate::feature::Effects;
use crate::feature::hear::{How, Outgoing};
use crate::intent::{Interface, ItemId};
use crate::kind::bond::Bond;
use crate::running::Running;

/// Interfaces that lie upon each other on a bond, whose addresses are told to all.
const UPON: usize = 1024;

/// What is true of the interface of a slave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: InterfaceId,
    pub(super) out: OutId,
    pub(super) mac: Mac,
    pub(super) runs: bool,
    /// Megabits a second; 0: nobody knows.
    pub(super) megabits: u32,
    pub(super) full_duplex: bool,
    /// The most that it carries behind an Ethernet header, in bytes; 0: nobody knows.
    carries: u32,
}

impl Link {
    /// That of an interface, if a bond takes its frames and can send by it.
    fn of(id: InterfaceId, laid: &Laid, bond: InterfaceId, running: &Running<'_>) -> Option<Self> {
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

    /// As LACP knows it.
    pub(super) const fn lacp(&self) -> lacp::Link {
        lacp::Link {
            up: self.runs,
            megabits: self.megabits,
            full_duplex: self.full_duplex,
        }
    }
}

impl Bonds {
    /// Takes over what is true of the interfaces of a bond.
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
        let (mut links, mut speaks) = (Vec::new(), Vec::new());
        for at in 0..one.slaves.len() {
            let named = running.layout.named(&one.slaves[at].name).zip(one.id);
            let link = named.and_then(|((id, laid), bond)| Link::of(id, laid, bond, running));
            self.ids
                .extend(link.map(|link| (link.id, (item, one.slaves[at].number))));
            one.change_link(at, link, running.now, (&mut links, &mut speaks), out);
        }
        one.find_mac(running.now, &mut speaks);
        one.find_addresses(running);
        one.do_links(links, out);
        one.do_lacp(speaks, out);
        self.settle(item, running.now, out);
    }
}

type Told<'a> = (&'a mut Vec<Action>, &'a mut Vec<lacp::Action>);

impl One {
    /// Brings the list of slaves up to what is configured.
    pub(super) fn order_slaves(&mut self, now: Instant, (links, speaks): Told<'_>) {
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
            self.links.handle(Event::SlaveGone(gone.number), now, links);
            if let Some(lacp) = &mut self.lacp {
                lacp.handle(lacp::Event::PortGone(gone.number), now, speaks);
            }
        }
        let taken: BTreeSet<_> = self.slaves.iter().map(|slave| slave.number).collect();
        let mut free = (1..).filter(|number| !taken.contains(number));
        for slave in self.slaves.iter_mut().filter(|slave| slave.number == 0) {
            slave.number = free.next().unwrap_or_default();
        }
    }

    /// Takes over what is true of a slave's interface; none: it is none of the bond's.
    fn change_link(
        &mut self,
        at: usize,
        link: Option<Link>,
        now: Instant,
        (links, speaks): Told<'_>,
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
                self.links.handle(Event::SlaveGone(number), now, links);
                if let Some(lacp) = &mut self.lacp {
                    lacp.handle(lacp::Event::PortGone(number), now, speaks);
                }
            }
            (before, Some(link)) => {
                if before.is_none() {
                    self.links
                        .handle(Event::Slave(number, link.runs), now, links);
                }
                self.links
                    .handle(Event::Link(number, link.runs), now, links);
                if let Some(lacp) = &mut self.lacp {
                    lacp.handle(lacp::Event::Port(number), now, speaks);
                    lacp.handle(lacp::Event::Link(number, link.lacp()), now, speaks);
                }
            }
        }
    }

    /// RouterOS: a bond's link address is that of its first slave, unless one is given.
    fn find_mac(&mut self, now: Instant, speaks: &mut Vec<lacp::Action>) {
        let of_slaves = self.slaves.iter().find_map(|slave| slave.link);
        let first = of_slaves.map(|link| link.mac);
        // While there is no slave it keeps the address that it had.
        self.mac = { self.settings.forced_mac }.or(first).unwrap_or(self.mac);
        let config = self.lacp_config();
        if let Some(lacp) = &mut self.lacp {
            lacp.handle(lacp::Event::Configure(config), now, speaks);
        }
    }

    /// The addresses of the bond and of what lies on it.
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

    /// The bond as an interface.
    pub(super) fn interface(&self) -> Interface {
        let mut interface = self.settings.interface.clone();
        interface.kind = Bond {
            mac: (self.mac != Mac::ZERO).then_some(self.mac),
            is_up: self.is_up(),
        }
        .into();
        interface
    }

    /// The most that all of its slaves carry, in bytes; 0: nobody knows.
    pub(super) fn carried(&self) -> u32 {
        let carries = self.slaves.iter().filter_map(|slave| slave.link);
        let carries = carries.map(|link| link.carries);
        carries.filter(|bytes| *bytes > 0).min().unwrap_or(0)
    }

    /// Whether enough slaves carry frames.
    fn is_up(&self) -> bool {
        let carry = self.slaves.iter().filter(|slave| self.carries(slave));
        carry.count() >= self.settings.min_links.max(1)
    }

    /// Whether a slave may send frames.
    pub(super) fn carries(&self, slave: &Slave) -> bool {
        let lacp = self.settings.mode != Mode::Lacp || slave.distributing;
        slave.link.is_some() && self.links.is_up(slave.number) && lacp
    }

    /// Tells everybody on the link that the bond's addresses are reached by another slave now.
    pub(super) fn announce(&self, out: &mut Effects) {
        for (id, address) in &self.own {
            let frame = match address {
                IpAddr::V4(address) => Arp::announce(self.mac, *address, true),
                IpAddr::V6(address) => Discovery::announce(self.mac, *address, true),
            };
            out.send(Outgoing::frame(*id, frame));
        }
    }

    /// Asks the targets of ARP monitoring: by the active slave, or where none is, or all carry frames, by each.
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
