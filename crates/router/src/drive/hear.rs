//! Frames of services: which features hear them, and what becomes of packets that none takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use core::net::IpAddr;

use dataplane::DropReason;
use dataplane::interface::InterfaceTable;
use dataplane::service::{Found, SERVICES, Service, ServiceId, ServiceSet, Services};
use frame::{Frame, InterfaceId};
use menu::Store;
use wire::{EtherType, Protocol, icmpv4, icmpv6, ipv4, ipv6, udp};

use super::punt::{extension_before, packet_of};
use super::{Control, half};
use crate::feature::Effects;
use crate::feature::hear::{Datagram, Heard, Hearing, How, Outgoing};
use crate::features::Features;
use crate::running::{Counted, Running, destination};

/// What features registered.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// By service. A name keeps its place, as counters are kept by it.
    names: Vec<&'static str>,
    /// By service: the features that hear it, by their places on the list.
    hearers: Vec<Vec<usize>>,
    table: Arc<Services>,
}

impl Registry {
    /// The table that workers read.
    pub(crate) fn table(&self) -> &Arc<Services> {
        &self.table
    }

    /// The names of services, by their places.
    pub(crate) fn names(&self) -> impl Iterator<Item = (ServiceId, &'static str)> {
        let names = self.names.iter().enumerate();
        names.filter_map(|(at, name)| Some((ServiceId::new(at)?, *name)))
    }

    /// The place of a service; none when all are taken.
    fn place(&mut self, name: &'static str) -> Option<ServiceId> {
        let known = self.names.iter().position(|known| *known == name);
        let at = known.unwrap_or(self.names.len());
        let id = ServiceId::new(at)?;
        if known.is_none() {
            self.names.push(name);
        }
        Some(id)
    }

    /// Of what the features of a new router want to hear.
    pub(super) fn of(wanted: Vec<(usize, Service)>) -> Self {
        let mut registry = Self::default();
        let (_, complaints) = registry.register(wanted);
        debug_assert!(complaints.is_empty(), "{complaints:?}");
        registry
    }

    /// Takes what all features want to hear, each with its place on their list. Services of one name are one:
    /// the first says how it is heard, and all hear it. Says whether the table is other, with what cannot be.
    pub(super) fn register(&mut self, wanted: Vec<(usize, Service)>) -> (bool, Vec<String>) {
        let mut services: BTreeMap<ServiceId, Service> = BTreeMap::new();
        let mut complaints = Vec::new();
        self.hearers = vec![Vec::new(); SERVICES];
        for (feature, service) in wanted {
            let Some(id) = self.place(service.name) else {
                complaints.push(format!("no room for service {}", service.name));
                continue;
            };
            self.hearers[id.index()].push(feature);
            match services.get_mut(&id) {
                Some(first) => first.matches.extend(service.matches),
                None => drop(services.insert(id, service)),
            }
        }
        let mut table = Services::default();
        for (id, service) in &services {
            if let Err(taken) = table.add(*id, service) {
                let (what, by) = (taken.what, taken.by);
                complaints.push(format!("{}: {what} is heard by {by}", service.name));
            }
        }
        let is_other = *self.table != table;
        if is_other {
            self.table = Arc::new(table);
        }
        (is_other, complaints)
    }

    /// Has a service heard on an interface, or not any more.
    pub(super) fn ask(
        &mut self,
        table: &InterfaceTable,
        (service, interface): (&'static str, InterfaceId),
        on: bool,
    ) {
        if let Some(id) = self.place(service) {
            table.set_services(interface, table.services(interface).with(id, on));
        }
    }

    fn hearers(&self, id: ServiceId) -> &[usize] {
        self.hearers.get(id.index()).map_or(&[], Vec::as_slice)
    }
}

impl Control {
    /// The running state, as features see it.
    pub(crate) fn running(&self) -> Running<'_> {
        Running {
            now: self.now,
            intent: &self.intent,
            layout: &self.layout,
            ports: &self.ports,
            addresses: &self.addresses,
            dad: &self.dad,
            rib4: &self.v4.rib,
            rib6: &self.v6.rib,
            counted: Counted {
                started: self.started,
                resources: &self.resources,
                connections: &self.connections,
                board: self.offload.board,
                workers: &self.workers,
                reset: &self.reset,
                storage_fault: &self.manage.storage_fault,
            },
        }
    }

    /// The features, what they registered, and the running state.
    pub(super) fn features(&mut self) -> (&mut Features, &Registry, Running<'_>) {
        let running = Running {
            now: self.now,
            intent: &self.intent,
            layout: &self.layout,
            ports: &self.ports,
            addresses: &self.addresses,
            dad: &self.dad,
            rib4: &self.v4.rib,
            rib6: &self.v6.rib,
            counted: Counted {
                started: self.started,
                resources: &self.resources,
                connections: &self.connections,
                board: self.offload.board,
                workers: &self.workers,
                reset: &self.reset,
                storage_fault: &self.manage.storage_fault,
            },
        };
        (&mut self.features, &self.services, running)
    }

    /// Asks the features what they want to hear; says whether that is other than before.
    pub(super) fn register_services(&mut self) -> bool {
        let (is_other, complaints) = self.services.register(self.features.services());
        for complaint in complaints.into_iter().filter(|_| is_other) {
            self.features.log.add("system,error", complaint);
        }
        is_other
    }

    /// Tells the features of these interfaces, which are others, or their addresses, or gone.
    pub(super) fn lay_out_features(&mut self, others: &BTreeSet<InterfaceId>) {
        if others.is_empty() {
            return;
        }
        let mut out = Effects::default();
        let (features, _, running) = self.features();
        features.lay_out(others, &running, &mut out);
        self.carry_out(out);
        self.retap();
    }

    /// Answers what managers asked of SNMP in this step. The agent is taken out meanwhile, as its tables are made of
    /// the rows of all features.
    pub(crate) fn answer_snmp(&mut self, store: &Store) {
        if !self.features.snmp.is_asked() {
            return;
        }
        let mut agent = core::mem::take(&mut self.features.snmp);
        let mut out = Effects::default();
        let refused = agent.answer(store, &*self, &self.running(), &mut out);
        self.features.snmp = agent;
        for reason in refused {
            self.workers.count(reason);
        }
        self.carry_out(out);
    }

    /// Lets the features of a service hear a frame.
    pub(super) fn hear(&mut self, frame: Frame, id: ServiceId, worker: u16) {
        let is_packet = is_packet(&frame);
        if is_packet && let Err(reason) = check(packet_of(&frame)) {
            return self.workers.discard(frame, reason);
        }
        let mut out = Effects::of_hearing(worker);
        let laid = self.layout.interfaces.get(&frame.ingress);
        let port = laid.map_or(frame.ingress, |laid| laid.under);
        let (features, services, running) = self.features();
        let heard = Heard {
            service: services.table.name(id),
            interface: frame.ingress,
            port,
            frame: frame.bytes(),
            l3: frame.l3.into(),
        };
        let hearing = features.hear(services.hearers(id), &heard, &running, &mut out);
        self.carry_out(out);
        match hearing {
            Hearing::Taken => self.workers.free(frame),
            Hearing::Bad(reason) => self.workers.discard(frame, reason),
            Hearing::NotMine if is_packet => self.unheard(frame, worker),
            Hearing::NotMine => self.workers.discard(frame, DropReason::EthernetType),
        }
    }

    /// Sees to a packet for this router that no worker found the service of: a fragment, a packet of the
    /// router's own, or one that nobody takes.
    pub(super) fn hear_local(&mut self, frame: Frame, worker: u16) {
        let packet = packet_of(&frame);
        let ipv6 = is_ipv6(packet);
        match is_piece(packet, ipv6) {
            Err(reason) => return self.workers.discard(frame, reason),
            Ok(true) if ipv6 => return self.collect6(frame, worker),
            Ok(true) => return self.collect4(frame, worker),
            Ok(false) => {}
        }
        let many = match destination(packet) {
            Some(IpAddr::V4(to)) => {
                to.is_broadcast() || to.is_multicast() || self.running().is_broadcast4(to)
            }
            Some(IpAddr::V6(to)) => to.is_multicast(),
            None => false,
        };
        let asked = match frame.ingress {
            InterfaceId::NONE => ServiceSet::default(),
            id => self.interfaces().services(id),
        };
        match self.services.table.packet(packet, many, asked) {
            Some(Found::Service(id)) => self.hear(frame, id, worker),
            _ => match check(packet) {
                Ok(()) => self.unheard(frame, worker),
                Err(reason) => self.workers.discard(frame, reason),
            },
        }
    }

    /// Gives a whole packet for this router to the host stack; where nothing there can take it, its sender is
    /// told.
    fn unheard(&mut self, frame: Frame, worker: u16) {
        let packet = packet_of(&frame);
        // The interface whose mirror it goes to: where it came in, or where the host stack sent it from.
        let at = match frame.ingress {
            InterfaceId::NONE => frame.egress,
            ingress => ingress,
        };
        let laid = self.layout.interfaces.get(&frame.ingress);
        let has_sockets = laid.is_some_and(|laid| laid.mirror.is_some());
        if is_ipv6(packet) {
            let Some(upper) = upper6(packet) else {
                return self.workers.discard(frame, DropReason::Ipv6ExtensionHeader);
            };
            if has_sockets || upper.protocol == Protocol::ICMPV6 {
                return self.deliver(frame, at, worker);
            }
            // The field that names it is the fixed header's, unless an extension header names it.
            let refused = (upper.protocol, extension_before(packet, upper.at));
            return self.refuse6(frame, refused, worker);
        }
        // Replies and errors are for those who asked, and nobody is told of others.
        let is_told = packet.get(9).map(|number| Protocol(*number));
        match is_told {
            Some(Protocol::ICMP | Protocol::IGMP) => self.deliver(frame, at, worker),
            _ if has_sockets => self.deliver(frame, at, worker),
            _ => self.refuse4(frame, worker),
        }
    }

    /// Sends what a feature wants sent.
    pub(super) fn send(&mut self, outgoing: Outgoing, worker: u16) {
        let Outgoing {
            interface,
            mut bytes,
            how,
        } = outgoing;
        match how {
            How::Frame(to, ether_type) => {
                let (_, mut means) = self.arp();
                half::send(interface, to, ether_type, &bytes, &mut means);
            }
            How::FrameFrom(from, to, ether_type) => {
                let (_, mut means) = self.arp();
                let between = (Some(from), to);
                half::send_from(interface, between, ether_type, &bytes, &mut means);
            }
            How::Routed => {
                self.identify(&mut bytes);
                self.output(&bytes, interface, worker);
            }
        }
    }

    /// Sends a datagram of a feature. Without an address that leads to its receiver it is not sent.
    pub(super) fn send_datagram(&mut self, datagram: &Datagram, worker: u16) {
        let Datagram {
            source,
            from,
            to,
            interface,
            data,
        } = datagram;
        let running = self.running();
        let header = udp::Repr {
            src_port: *from,
            dst_port: to.port(),
        };
        let mut packet = match (to.ip(), source) {
            (IpAddr::V4(to), source) => {
                let source = match source {
                    Some(IpAddr::V4(source)) => Some(*source),
                    _ => { running.first4(*interface) }.or_else(|| running.source4(to)),
                };
                let Some(source) = source else { return };
                let udp = header.to_bytes_v4(data, source, to);
                let ip = ipv4::Repr::new(Protocol::UDP, source, to);
                [&ip.to_bytes(udp.len() + data.len())[..], &udp].concat()
            }
            (IpAddr::V6(to), source) => {
                let source = match source {
                    Some(IpAddr::V6(source)) => Some(*source),
                    _ => running.source6(to, *interface),
                };
                let Some(source) = source else { return };
                let udp = header.to_bytes_v6(data, source, to);
                let ip = ipv6::Repr::new(Protocol::UDP, source, to);
                [&ip.to_bytes(udp.len() + data.len())[..], &udp].concat()
            }
        };
        packet.extend(data);
        self.send(Outgoing::packet(*interface, packet), worker);
    }

    /// Gives an IPv4 packet of this router's own an identification, if it has none.
    fn identify(&mut self, packet: &mut [u8]) {
        let id = self.next_id();
        let Some(header) = packet.first_chunk_mut::<20>() else {
            return;
        };
        if header[0] == 0x45 && header[4..6] == [0, 0] {
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[10..12].fill(0);
            let sum = wire::checksum::checksum(header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Whether a frame carries an IP packet. One of this router's own has no link header.
fn is_packet(frame: &Frame) -> bool {
    let end = usize::from(frame.l3);
    let kind = end.checked_sub(2).and_then(|at| frame.bytes().get(at..end));
    let is = |ether_type: EtherType| kind == Some(&ether_type.0.to_be_bytes()[..]);
    end == 0 || is(EtherType::IPV4) || is(EtherType::IPV6)
}

fn is_ipv6(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
}

fn upper6(packet: &[u8]) -> Option<ipv6::Upper<'_>> {
    ipv6::Packet::new_checked(packet).ok()?.upper().ok()
}

/// Whether a packet is a fragment.
fn is_piece(packet: &[u8], ipv6: bool) -> Result<bool, DropReason> {
    if ipv6 {
        let upper = upper6(packet).ok_or(DropReason::Ipv6ExtensionHeader)?;
        return Ok(upper.fragment.is_some());
    }
    let packet = ipv4::Packet::new_checked(packet).map_err(|_| DropReason::Ipv4Length)?;
    Ok(packet.fragment().is_piece())
}

/// Whether a whole packet may be read: header, and the checksum of ICMP.
fn check(packet: &[u8]) -> Result<(), DropReason> {
    if is_ipv6(packet) {
        let upper = upper6(packet).ok_or(DropReason::Ipv6ExtensionHeader)?;
        let packet =
            ipv6::Packet::new_checked(packet).map_err(|_| DropReason::Ipv6ExtensionHeader)?;
        let (src, dst) = (packet.src(), packet.dst());
        let bad = upper.protocol == Protocol::ICMPV6
            && icmpv6::Packet::new_verified(upper.payload, src, dst).is_err();
        return if bad {
            Err(DropReason::IcmpMalformed)
        } else {
            Ok(())
        };
    }
    let packet = ipv4::Packet::new_checked(packet).map_err(|_| DropReason::Ipv4Length)?;
    let bad = packet.protocol() == Protocol::ICMP
        && icmpv4::Packet::new_verified(packet.payload()).is_err();
    if bad {
        Err(DropReason::IcmpMalformed)
    } else {
        Ok(())
    }
}
