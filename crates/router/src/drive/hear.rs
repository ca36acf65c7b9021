//! Packets for this router: delivers frames of services to features, and all others to the host stack.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use core::net::{IpAddr, Ipv4Addr};

use dataplane::DropReason;
use dataplane::interface::InterfaceTable;
use dataplane::service::{LookupResult, SERVICES, Service, ServiceId, ServiceSet, Services};
use frame::{Frame, InterfaceId};
use menu::Store;
use wire::{EtherType, Protocol, icmpv4, icmpv6, ipv4, ipv6, udp};

use super::punt::{extension_before, packet_of};
use super::{Control, half};
use crate::feature::Effects;
use crate::feature::hear::{Datagram, How, Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::features::Features;
use crate::running::{Counted, Running, destination};

/// Services that features registered.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Names of services by number. A name keeps its number, because counters are kept by number.
    names: Vec<&'static str>,
    /// By service: positions in the feature list of the features that receive it.
    hearers: Vec<Vec<usize>>,
    /// Services of the features when the table was compiled.
    wanted: Vec<(usize, Service)>,
    table: Arc<Services>,
}

impl Registry {
    /// Returns the service table of the workers.
    pub(crate) fn table(&self) -> &Arc<Services> {
        &self.table
    }

    /// Returns the services with their numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = (ServiceId, &'static str)> {
        let names = self.names.iter().enumerate();
        names.filter_map(|(at, name)| Some((ServiceId::new(at)?, *name)))
    }

    /// Returns the number of a service, which a new name gets here; `None` if all numbers are taken.
    fn place(&mut self, name: &'static str) -> Option<ServiceId> {
        let known = self.names.iter().position(|known| *known == name);
        let at = known.unwrap_or(self.names.len());
        let id = ServiceId::new(at)?;
        if known.is_none() {
            self.names.push(name);
        }
        Some(id)
    }

    /// Creates the registry of a new router from the services of its features.
    pub(super) fn of(wanted: Vec<(usize, Service)>) -> Self {
        let mut registry = Self::default();
        let (_, complaints) = registry.register(wanted);
        debug_assert!(complaints.is_empty(), "{complaints:?}");
        registry
    }

    /// Replaces the services of all features; each is given with the feature's position in the list. Services with one
    /// name are merged: the first one defines the match, and all of its features receive the frames. Returns whether
    /// the table changed, and messages about services that cannot be registered.
    pub(super) fn register(&mut self, wanted: Vec<(usize, Service)>) -> (bool, Vec<String>) {
        let mut services: BTreeMap<ServiceId, Service> = BTreeMap::new();
        let mut complaints = Vec::new();
        if wanted == self.wanted {
            return (false, complaints);
        }
        self.wanted.clone_from(&wanted);
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
                complaints.push(format!(
                    "{}: {what} is already received by {by}",
                    service.name
                ));
            }
        }
        let is_other = *self.table != table;
        if is_other {
            self.table = Arc::new(table);
        }
        (is_other, complaints)
    }

    /// Starts or stops the delivery of a service on an interface.
    pub(super) fn deliver_on(
        &mut self,
        table: &InterfaceTable,
        service: &'static str,
        interface: InterfaceId,
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
    /// Returns the running state for features.
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

    /// Returns the features, the registry and the running state.
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

    /// Collects the services of the features; returns whether the table changed.
    pub(super) fn register_services(&mut self) -> bool {
        let (is_other, complaints) = self.services.register(self.features.services());
        for complaint in complaints.into_iter().filter(|_| is_other) {
            self.features.log.add("system,error", complaint);
        }
        is_other
    }

    /// Tells features about interfaces that changed, changed their addresses, or were removed.
    pub(super) fn lay_out_features(&mut self, others: &BTreeSet<InterfaceId>) {
        if others.is_empty() {
            return;
        }
        let mut out = Effects::default();
        let (features, _, running) = self.features();
        features.lay_out(others, &running, &mut out);
        self.carry_out(out);
        self.retap_changed(others);
    }

    /// Answers the SNMP requests of this step. The agent is moved out meanwhile, because its tables read the rows of
    /// all features.
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

    /// Passes a frame to the features of a service.
    pub(super) fn hear(&mut self, frame: Frame, id: ServiceId, worker: u16) {
        let is_packet = is_packet(&frame);
        if is_packet && let Err(reason) = check(packet_of(&frame)) {
            return self.workers.discard(frame, reason);
        }
        let mut out = Effects::of_hearing(worker);
        let laid = self.layout.interfaces.get(&frame.ingress);
        let port = laid.map_or(frame.ingress, |laid| laid.under);
        let (features, services, running) = self.features();
        let heard = ReceivedPacket {
            service: services.table.name(id),
            interface: frame.ingress,
            port,
            frame: frame.bytes(),
            l3: frame.l3.into(),
        };
        let hearing = features.hear(services.hearers(id), &heard, &running, &mut out);
        self.carry_out(out);
        match hearing {
            ReceiveOutcome::Taken => self.workers.free(frame),
            ReceiveOutcome::Bad(reason) => self.workers.discard(frame, reason),
            ReceiveOutcome::NotMine if is_packet => self.unheard(frame, worker),
            ReceiveOutcome::NotMine => self.workers.discard(frame, DropReason::EthernetType),
        }
    }

    /// Handles a packet for this router without a service: a fragment, a packet of the router itself, or a packet for
    /// the host stack.
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
            Some(LookupResult::Service(id)) => self.hear(frame, id, worker),
            _ => match check(packet) {
                Ok(()) => self.unheard(frame, worker),
                Err(reason) => self.workers.discard(frame, reason),
            },
        }
    }

    /// Passes a complete packet for this router to the host stack. If the host stack cannot receive the packet, its
    /// sender gets an ICMP error.
    fn unheard(&mut self, frame: Frame, worker: u16) {
        let packet = packet_of(&frame);
        // The interface of the mirror: the ingress interface, or the interface that the host stack sent the packet
        // from.
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
            // The protocol field lies in the fixed header, or in the last extension header.
            let refused = (upper.protocol, extension_before(packet, upper.at));
            return self.refuse6(frame, refused, worker);
        }
        // ICMP replies and errors need no answer.
        let is_told = packet.get(9).map(|number| Protocol(*number));
        match is_told {
            Some(Protocol::ICMP | Protocol::IGMP) => self.deliver(frame, at, worker),
            _ if has_sockets => self.deliver(frame, at, worker),
            _ => self.refuse4(frame, worker),
        }
    }

    /// Sends a frame or packet of a feature.
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
                half::send_from(interface, Some(from), to, ether_type, &bytes, &mut means);
            }
            How::Routed => {
                self.add_source(&mut bytes);
                self.identify(&mut bytes);
                self.output(&bytes, interface, worker);
            }
        }
    }

    /// Sends a datagram of a feature. Drops the datagram if no local address fits its destination.
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

    /// Sets the source address of an IPv4 packet to one host, if the address is unspecified, by the route to the host.
    fn add_source(&self, packet: &mut [u8]) {
        let Some(header) = packet.first_chunk_mut::<20>() else {
            return;
        };
        let [.., a, b, c, d] = *header;
        let to = Ipv4Addr::new(a, b, c, d);
        let is_open = header[0] >> 4 == 4 && header[12..16] == [0; 4];
        if !is_open || to.is_multicast() || to.is_broadcast() {
            return;
        }
        if let Some(source) = self.running().source4(to) {
            header[12..16].copy_from_slice(&source.octets());
            header[10..12].fill(0);
            let sum = wire::checksum::checksum(header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// Sets the identification of an IPv4 packet of this router, if it is zero.
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

/// Whether a frame contains an IP packet. Packets of this router have no link header.
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

/// Validates a complete packet: its header, and the checksum of ICMP.
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
