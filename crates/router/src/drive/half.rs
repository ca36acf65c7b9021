//! One address family of control: its RIB, and the neighbour machines of all interfaces.

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use dataplane::interface::Session;
use dataplane::table::NextHopId;
use dataplane::table::fib::FibWriter;
use dataplane::{Command, DropReason};
use frame::{Frame, InterfaceId};
use machine::{Instant, Machine};
use service::neighbour::{self, Action, Arp, Config, Discovery, Event, Neighbours, Question};
use wire::{EtherType, Mac};

use super::claims::Claims;
use super::items::Named;
use super::log::Log;
use super::sink::FibSink;
use super::timers::Timers;
use super::workers::Workers;
use crate::compile::Layout;
use crate::compile::address::OfferKey;
use crate::intent::{self, ItemId};
use crate::rib::{Family, Offer, Rib, RouteId, RouteSink, Target, V4, V6};

/// Connects the neighbour protocol of an address family to its routes.
pub trait Side: neighbour::Family<Address = <Self::Net as Family>::Addr> + 'static {
    /// The address family.
    type Net: Family;
    /// Its EtherType.
    const ETHER_TYPE: EtherType;
    /// The timer key of the neighbours on an interface.
    fn timer(interface: InterfaceId) -> TimerKey;
    /// Brings the FIB up to date with the RIB.
    fn settle(rib: &mut Rib<Self::Net>, sink: &mut FibSink<'_>);
}

impl Side for Arp {
    type Net = V4;
    const ETHER_TYPE: EtherType = EtherType::IPV4;

    fn timer(interface: InterfaceId) -> TimerKey {
        TimerKey::Arp(interface)
    }

    fn settle(rib: &mut Rib<V4>, sink: &mut FibSink<'_>) {
        rib.settle(sink);
    }
}

impl Side for Discovery {
    type Net = V6;
    const ETHER_TYPE: EtherType = EtherType::IPV6;

    fn timer(interface: InterfaceId) -> TimerKey {
        TimerKey::Discovery(interface)
    }

    fn settle(rib: &mut Rib<V6>, sink: &mut FibSink<'_>) {
        rib.settle(sink);
    }
}

/// Owner of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKey {
    /// The IPv4 neighbours of an interface.
    Arp(InterfaceId),
    /// The IPv6 neighbours of an interface.
    Discovery(InterfaceId),
    /// Fragments of incomplete packets.
    Pieces,
}

/// A packet that waits for a link address, and the worker that receives the packet afterwards.
#[derive(Debug)]
pub struct Waiting {
    /// The packet; `l3` is set.
    pub frame: Frame,
    /// The worker that continues with the packet.
    pub worker: u16,
    /// The next hop of the packet; none if only the neighbour resolution was needed.
    pub hop: NextHopId,
}

/// An action of a neighbour machine that needs the rest of control.
#[derive(Debug)]
pub enum Upcall<A> {
    /// Send ICMP host (address) unreachable to the packet's sender.
    Unreachable(Waiting),
    /// A question for an address of another interface or host.
    Asked(Question<A>),
    /// A neighbour answered a probe.
    Answered(A),
    /// Report the reception of this multicast group.
    Join(Ipv6Addr),
    /// Report the end of the reception of this multicast group.
    Leave(Ipv6Addr),
    /// Duplicate address detection passed: the address may be used.
    DadDone(A),
    /// Duplicate address detection failed: another host uses the address.
    DadFailed(A, Mac),
}

/// Parts of control that actions of neighbour machines use.
#[derive(Debug)]
pub struct Means<'a> {
    /// The workers.
    pub workers: &'a mut Workers,
    /// Routes and next hops.
    pub fib: &'a mut FibWriter,
    /// Deadlines.
    pub timers: &'a mut Timers<TimerKey>,
    /// The log.
    pub log: &'a mut Log,
    /// The interfaces.
    pub layout: &'a Layout,
    /// The time.
    pub now: Instant,
}

/// Dynamic routes of addresses, as offered to the RIB.
pub type Dynamic<F> = BTreeMap<OfferKey<F>, (Offer<F>, RouteId)>;

/// Control state of one address family.
#[derive(Debug)]
pub struct Half<S: Side> {
    /// The routes.
    pub rib: Rib<S::Net>,
    /// The neighbours of each interface, boxed: a node of the tree has room for eleven values.
    pub machines: BTreeMap<InterfaceId, Box<Neighbours<S, Waiting>>>,
    /// Configured routes that are offered to the RIB, by item.
    pub routes: BTreeMap<ItemId, RouteId>,
    /// Routes that name interfaces or tables: offered again when these change.
    pub(super) named: Named,
    /// Dynamic routes of addresses.
    pub dynamic: Dynamic<S::Net>,
    /// The address that claims each dynamic route.
    pub(super) claims: Claims<S::Net>,
    /// Configured neighbours in use.
    pub statics: BTreeMap<(InterfaceId, S::Address), intent::Neighbour<S::Net>>,
}

impl<S: Side> Default for Half<S> {
    fn default() -> Self {
        Self {
            rib: Rib::default(),
            machines: BTreeMap::new(),
            routes: BTreeMap::new(),
            named: Named::default(),
            dynamic: BTreeMap::new(),
            claims: Claims::default(),
            statics: BTreeMap::new(),
        }
    }
}

impl<S: Side> Half<S> {
    /// Returns the configured neighbours in use on an interface.
    pub(super) fn statics_of(
        &self,
        id: InterfaceId,
    ) -> BTreeMap<S::Address, intent::Neighbour<S::Net>> {
        let from = (id, <S::Net as Family>::UNSPECIFIED);
        let rest = self.statics.range(from..);
        let on_it = rest.take_while(|((on, _), _)| *on == id);
        on_it.map(|((_, addr), of)| (*addr, of.clone())).collect()
    }
}

impl<S: Side> Half<S>
where
    for<'a> FibSink<'a>: RouteSink<S::Net>,
{
    /// Creates the neighbour machine of an interface, or changes its settings.
    pub fn configure(
        &mut self,
        id: InterfaceId,
        config: Config,
        seed: u64,
        means: &mut Means<'_>,
    ) -> Vec<Upcall<S::Address>> {
        match self.machines.get(&id) {
            None => {
                let machine = Box::new(Neighbours::new(config, seed));
                self.machines.insert(id, machine);
                Vec::new()
            }
            Some(machine) if *machine.config() == config => Vec::new(),
            Some(_) => self.feed(id, Event::Configure(config), means),
        }
    }

    /// Removes the neighbour machine of an interface.
    pub fn remove(&mut self, id: InterfaceId, means: &mut Means<'_>) {
        // Waiting packets are returned, and learnt neighbours leave the FIB.
        let upcalls = self.feed(id, Event::LinkDown, means);
        for upcall in upcalls {
            if let Upcall::Unreachable(waiting) = upcall {
                means.workers.discard(waiting.frame, DropReason::EgressDown);
            }
        }
        self.machines.remove(&id);
        means.timers.set(S::timer(id), None);
    }

    /// Passes an event to a neighbour machine, and carries out its actions.
    pub fn feed(
        &mut self,
        id: InterfaceId,
        event: Event<'_, S::Address, Waiting>,
        means: &mut Means<'_>,
    ) -> Vec<Upcall<S::Address>> {
        let mut actions = Vec::new();
        let Some(machine) = self.machines.get_mut(&id) else {
            if let Event::Resolve {
                packet: Some(waiting),
                ..
            } = event
            {
                means.workers.discard(waiting.frame, DropReason::EgressDown);
            }
            return Vec::new();
        };
        machine.handle(event, means.now, &mut actions);
        self.carry_out(id, actions, means)
    }

    /// Lets the neighbour machine of an interface handle its due timers.
    pub fn tick(&mut self, id: InterfaceId, means: &mut Means<'_>) -> Vec<Upcall<S::Address>> {
        let mut actions = Vec::new();
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.tick(means.now, &mut actions);
        }
        self.carry_out(id, actions, means)
    }

    fn carry_out(
        &mut self,
        id: InterfaceId,
        mut actions: Vec<Action<S::Address, Waiting>>,
        means: &mut Means<'_>,
    ) -> Vec<Upcall<S::Address>> {
        let mut upcalls = Vec::new();
        while !actions.is_empty() {
            let mut next = Vec::new();
            for action in actions {
                self.act(id, action, means, &mut next, &mut upcalls);
            }
            actions = next;
        }
        let deadline = self
            .machines
            .get(&id)
            .and_then(|machine| machine.deadline());
        means.timers.set(S::timer(id), deadline.map(|(at, _)| at));
        upcalls
    }

    fn act(
        &mut self,
        id: InterfaceId,
        action: Action<S::Address, Waiting>,
        means: &mut Means<'_>,
        next: &mut Vec<Action<S::Address, Waiting>>,
        upcalls: &mut Vec<Upcall<S::Address>>,
    ) {
        match action {
            Action::Send(frame) => {
                send(id, frame.dst, frame.ether_type, &frame.payload, means);
            }
            Action::Resolved { address, mac } => self.learn(id, address, Some(mac), means),
            Action::Lost { address } => self.learn(id, address, None, means),
            Action::Release { packet, mac } => self.release(id, packet, mac, means),
            Action::Dropped { packet, why } => {
                let reason = match why {
                    neighbour::DropReason::QueueFull | neighbour::DropReason::TableFull => {
                        DropReason::NeighbourQueueFull
                    }
                    neighbour::DropReason::LinkDown => DropReason::EgressDown,
                    neighbour::DropReason::NoNeighbour | neighbour::DropReason::Forgotten => {
                        DropReason::NeighbourUnreachable
                    }
                };
                means.workers.discard(packet.frame, reason);
            }
            // Workers do not report the neighbours that they send to: assume that the neighbour is in use.
            Action::InUse { address } => {
                if let Some(machine) = self.machines.get_mut(&id) {
                    machine.handle(Event::Used { address }, means.now, next);
                }
            }
            Action::Unreachable { packet, .. } => upcalls.push(Upcall::Unreachable(packet)),
            Action::Asked(question) => upcalls.push(Upcall::Asked(question)),
            Action::Answered { address } => upcalls.push(Upcall::Answered(address)),
            Action::DadDone { address } => upcalls.push(Upcall::DadDone(address)),
            Action::DadFailed { address, mac } => upcalls.push(Upcall::DadFailed(address, mac)),
            Action::Conflict { address, mac } => {
                let name = means.layout.name(id);
                let message = format!("{name}: address {address:?} is used by {mac} too");
                means.log.add("interface,warning", message);
            }
            Action::Join { group } => upcalls.push(Upcall::Join(group)),
            Action::Leave { group } => upcalls.push(Upcall::Leave(group)),
            // The packets of the neighbour follow in actions of their own.
            Action::Failed { .. } => {}
        }
    }

    fn learn(
        &mut self,
        id: InterfaceId,
        address: S::Address,
        mac: Option<Mac>,
        means: &mut Means<'_>,
    ) {
        self.rib.set_neighbour(id, address, mac);
        self.settle(means.fib, means.log);
    }

    /// Brings the FIB up to date.
    pub fn settle(&mut self, fib: &mut FibWriter, log: &mut Log) {
        let mut sink = FibSink::new(fib);
        S::settle(&mut self.rib, &mut sink);
        if sink.lost > 0 {
            let message = format!("{} routes found no room in the FIB", sink.lost);
            log.add("route,error", message);
        }
    }

    /// Sends a packet whose link address was resolved.
    fn release(&mut self, id: InterfaceId, waiting: Waiting, mac: Mac, means: &mut Means<'_>) {
        let Waiting {
            mut frame,
            worker,
            hop,
        } = waiting;
        if frame.egress != id || !is_to_link_local(&frame) {
            // Workers route other packets again: the route may have changed meanwhile. A next hop that no longer stands
            // for a neighbour on this link is replaced by `NO_ROUTE`.
            let hop = match self.rib.target(hop) {
                Some(Target::Neighbour(on, _)) if on == id => hop,
                _ => NextHopId::NO_ROUTE,
            };
            return means.workers.send(worker, Command::Resume(frame, hop));
        }
        // No route leads to a link-local address: control completes the frame.
        let (l3, Some(laid)) = (frame.l3, means.layout.interfaces.get(&id)) else {
            return means.workers.discard(frame, DropReason::EgressDown);
        };
        let packet = frame.bytes().get(usize::from(l3)..).unwrap_or_default();
        let header = link_header(&laid.link, laid.link.mac, mac, S::ETHER_TYPE, packet);
        let Some(header) = header else {
            return means.workers.discard(frame, DropReason::EgressDown);
        };
        frame.pull_front(usize::from(l3));
        if !frame.push_front(header.len()) {
            return means.workers.discard(frame, DropReason::NoBuffer);
        }
        frame.bytes_mut()[..header.len()].copy_from_slice(&header);
        frame
            .offload
            .shift((header.len() as i16).wrapping_sub(l3 as i16));
        frame.l3 = header.len() as u16;
        means.workers.send(worker, Command::Transmit(frame));
    }
}

/// Whether the destination of a packet is a link-local IPv6 address (RFC 4291, 2.5.6).
fn is_to_link_local(frame: &Frame) -> bool {
    let packet = frame.bytes().get(usize::from(frame.l3)..);
    packet
        .and_then(|packet| packet.first_chunk::<40>())
        .is_some_and(|header| {
            header[0] >> 4 == 6 && header[24] == 0xfe && header[25] & 0xc0 == 0x80
        })
}

/// Builds the link header of a frame on this link, including tags and the header of a PPPoE session. Returns `None` for
/// a session that does not carry this protocol. A session that carries frames has no header here: its encapsulation
/// writes it.
fn link_header(
    link: &crate::rib::Link,
    from: Mac,
    to: Mac,
    ether_type: EtherType,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let session = link.session.filter(|_| !link.ethernet);
    let to = session.map_or(to, |session| session.peer);
    let mut header = Vec::with_capacity(14 + Session::HEADER + 4 * link.tags.len());
    header.extend_from_slice(&to.0);
    header.extend_from_slice(&from.0);
    for (tag, vlan_id) in &link.tags {
        header.extend_from_slice(&tag.to_be_bytes());
        header.extend_from_slice(&vlan_id.to_be_bytes());
    }
    let Some(session) = session else {
        header.extend_from_slice(&ether_type.0.to_be_bytes());
        return Some(header);
    };
    let is_ipv6 = match ether_type {
        EtherType::IPV4 => false,
        EtherType::IPV6 => true,
        _ => return None,
    };
    header.extend_from_slice(&EtherType::PPPOE_SESSION.0.to_be_bytes());
    header.extend_from_slice(&session.header_with(is_ipv6, payload.len())?);
    Some(header)
}

/// Sends a frame of control by an interface. RouterOS: IPv6 passes chain `output`; ARP passes no rule.
pub(super) fn send(
    id: InterfaceId,
    to: Mac,
    ether_type: EtherType,
    payload: &[u8],
    means: &mut Means<'_>,
) {
    send_from(id, None, to, ether_type, payload, means);
}

/// Sends a frame of control by an interface from another link address than the interface's.
pub(super) fn send_from(
    id: InterfaceId,
    from: Option<Mac>,
    to: Mac,
    ether_type: EtherType,
    payload: &[u8],
    means: &mut Means<'_>,
) {
    let Some(laid) = means.layout.interfaces.get(&id) else {
        return;
    };
    let from = from.unwrap_or(laid.link.mac);
    let Some(mut bytes) = link_header(&laid.link, from, to, ether_type, payload) else {
        return;
    };
    let l3 = bytes.len() as u16;
    bytes.extend_from_slice(payload);
    if let Some(mut frame) = means.workers.frame(&bytes) {
        frame.l3 = l3;
        frame.egress = id;
        let command = match ether_type {
            EtherType::IPV6 => Command::OnLink(frame),
            _ => Command::Transmit(frame),
        };
        means.workers.send(0, command);
    }
}
