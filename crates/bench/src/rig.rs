//! The benchmark's router, whose workers each sit between a port that copies templates and a port
//! that accepts all frames.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::iter::repeat_with;
use std::sync::Arc;

use arc_swap::ArcSwap;
use frame::{InterfaceId, Pool, Sizes, VECTOR_FRAMES};
use machine::{Duration, Instant, Rng};
use queue::Leaf;
use wire::Mac;

use super::ends::{End, Meter};
use super::hops::{ETHERNET_MTU, SESSION_MTU, client, gateway, in_session, tagged};
use super::packets::Templates;
use super::rules::sources;
use super::tunnels::{FAR_STATION, KEY, SESSION, TunnelKind, station, tunnel};
use super::{Family, Invalid};
use crate::workload;
use dataplane::DropReason;
use dataplane::bond::{Bond, HashPolicy, Sends, Slave, Takes};
use dataplane::connection;
use dataplane::counters::Counters;
use dataplane::encap::Encapsulation;
use dataplane::encap::wireguard::{Arriving, Wireguard};
use dataplane::firewall::Firewall;
use dataplane::interface::{Details, Interface, InterfaceTable, Own6, Session, Tag};
use dataplane::ipsec::Ipsec;
use dataplane::out::OutId;
use dataplane::queueing::Change;
use dataplane::rings::{Command, Remote, rings};
use dataplane::routing_rules::RoutingRules;
use dataplane::rule::Class;
use dataplane::snapshot::{FamilySettings, PortBinding, SlowReason, Snapshot};
use dataplane::table::{Adjacency, FibWriter, Kind, Network, NextHopId};
use dataplane::worker::{Parts, Worker};
use wireguard::session::Receiving;

/// The router's MAC address on the near side.
pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The MAC address of the clients.
pub(super) const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
/// The router's MAC address on the far side.
pub(super) const FAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// The near interface, with the clients.
pub(super) const INGRESS: InterfaceId = InterfaceId(1);
/// The far interface, with all other hosts.
pub(super) const EGRESS: InterfaceId = InterfaceId(2);
/// 100.64.0.0/16 (of RFC 6598): sources that no other part of the benchmark uses.
pub(super) const CLIENTS4: u32 = 0x6440_0000;
/// 2001:db8::/64 (RFC 3849).
pub(super) const CLIENTS6: u128 = 0x2001_0db8 << 96;
/// The router's addresses on the far side, which masquerade uses.
pub(super) const OWN4: u32 = 0x0a00_0101;
/// The remote end of the tunnel.
pub(super) const FAR_END: u32 = 0x0a00_0202;
const OWN6: u128 = 0x2001_0db8_0001 << 80 | 1;
/// Number of rule counters, beyond the rules of any row.
const RULES: u32 = 2048;
/// Time by which the workers' clock advances with each vector.
const VECTOR_TIME: Duration = Duration::from_micros(10);
/// Start time of the workers' clocks. The buckets of queues are full by then, so a lagging worker
/// does not meet charges of other workers in its future.
const BEGINNING: Duration = Duration::from_secs(1);
/// The table of a second uplink, and the routing mark that selects it.
pub(super) const MARKED: u32 = 1;
/// The VLAN of leaving packets in rows with tags.
pub(super) const FAR_VLAN: u16 = 100;
/// MTU of the tunnel in bytes.
const TUNNEL_MTU: u32 = 9_100;
/// MAC addresses of the VXLAN interface, and of the host behind its remote end.
pub(super) const TUNNEL_MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub(super) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 4];
/// The VXLAN network identifier.
pub(super) const VNI: u32 = 5001;
/// Number of next hops of a large table.
const GATEWAYS: usize = 16;

/// The benchmark's router.
pub(super) struct Rig {
    family: Family,
    /// The routed networks, from which destinations are chosen.
    networks: Networks,
    lanes: Vec<DrivenWorker>,
    interfaces: Arc<InterfaceTable>,
    writer: FibWriter,
    /// The next hops of routes.
    gateways: Vec<NextHopId>,
    /// The next hop of the clients; `None` without a firewall, where no packets are answered.
    clients: Option<NextHopId>,
    remotes: Vec<Remote>,
    snapshot: Arc<ArcSwap<Snapshot>>,
}

/// A worker and its two ports.
pub(super) struct DrivenWorker {
    worker: Worker,
    now: Instant,
    /// Time by which `now` advances with each vector.
    vector_time: Duration,
    meter: Arc<Meter>,
}

impl Rig {
    /// Creates a router with this number of workers, routing table and firewall.
    pub(super) fn new(
        family: Family,
        routes: u32,
        workers: u16,
        firewall: Firewall,
        seed: u64,
    ) -> Result<Self, Invalid> {
        let mut writer = FibWriter::new();
        let (networks, gateways) = fill(&mut writer, family, routes, seed)?;
        let mut clients = None;
        if firewall.guards(family == Family::Ipv6) {
            clients = Some(way_back(&mut writer, family)?);
            uplink(&mut writer, family)?;
        }
        let count = usize::from(workers.max(1));
        let sizes = Sizes {
            small: 1024,
            medium: 256,
            large: 4,
        };
        let pools =
            Pool::group(count, sizes).map_err(|error| Invalid::Memory(error.to_string()))?;
        let (rings, mut remotes) = rings(count);
        let settings = &firewall.settings;
        let trackers = connection::trackers(workers.max(1), settings, &mut Rng::seeded(seed));
        let snapshot = Arc::new(ArcSwap::from_pointee(snapshot(firewall)));
        let interfaces = Arc::new(interfaces());
        let mut lanes = Vec::new();
        let (_, trackers) = trackers.map_err(|error| Invalid::Memory(error.to_string()))?;
        let ends = rings.into_iter().zip(&mut remotes);
        for (((index, pool), (rings, remote)), tracker) in (0..).zip(pools).zip(ends).zip(trackers)
        {
            let reader = writer.fib().grace.reader();
            let counters = Arc::new(Counters::new());
            counters.make_room(EGRESS);
            if !counters.rules.make_room(RULES) {
                return Err(Invalid::Memory(
                    "no room for the counters of rules".to_owned(),
                ));
            }
            let parts = Parts {
                index,
                pool,
                snapshot: Arc::clone(&snapshot),
                interfaces: Arc::clone(&interfaces),
                fib: Arc::clone(writer.fib()),
                reader: reader.ok_or_else(|| Invalid::Memory("too many workers".to_owned()))?,
                rings,
                counters,
                tracker,
                unix_ms: 0,
            };
            lanes.push(DrivenWorker::new(parts, remote));
        }
        Ok(Self {
            family,
            networks,
            lanes,
            interfaces,
            writer,
            gateways,
            clients,
            remotes,
            snapshot,
        })
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    /// Creates VLANs on the near side, and one on the far side by which all packets leave.
    pub(super) fn tag(&mut self, vlans: u16) {
        for vlan_id in 1..=vlans {
            let id = InterfaceId(EGRESS.0 + u32::from(vlan_id));
            self.add_vlan(id, INGRESS, MAC, 0, vlan_id);
        }
        let far = InterfaceId(EGRESS.0 + u32::from(vlans) + 1);
        self.add_vlan(far, EGRESS, FAR_MAC, 1, FAR_VLAN);
        for (number, hop) in (0..).zip(&self.gateways) {
            let far = tagged(gateway(self.family, number), far, FAR_VLAN);
            self.writer.set_next_hop(*hop, &far);
        }
    }

    /// Creates a PPPoE session on the far side by which all packets leave.
    pub(super) fn dial(&mut self, id: InterfaceId, session: Session) -> Result<(), Invalid> {
        let interface = Interface {
            under: EGRESS,
            ethernet: false,
            mtu: SESSION_MTU,
            ..ethernet(FAR_MAC, 1)
        };
        self.interfaces.set(id, &interface);
        self.interfaces.set_class(id, class_of(id), 0);
        self.make_room(id);
        if !self.interfaces.set_session(id, EGRESS, session) {
            return Err(Invalid::TableFull);
        }
        let family = self.family;
        let hop = in_session(gateway(family, 0), family, session, id);
        for gateway in &self.gateways {
            self.writer.set_next_hop(*gateway, &hop);
        }
        Ok(())
    }

    /// Creates a tunnel between the router's far address and [`FAR_END`]. With `out` all packets
    /// leave by it; otherwise received packets may come out of it.
    pub(super) fn add_tunnel(&mut self, kind: TunnelKind, out: bool) -> Result<(), Invalid> {
        let id = InterfaceId(EGRESS.0 + 1);
        let interface = Interface {
            under: id,
            mtu: TUNNEL_MTU,
            out: OutId::tunnel(id),
            ..ethernet(TUNNEL_MAC, 1)
        };
        let memory = |error: std::io::Error| Invalid::Memory(error.to_string());
        let peers = self.interfaces.peers();
        peers.make_room(1).map_err(memory)?;
        if let Some(hosts) = peers.hosts() {
            hosts.set(&station(id), FAR_STATION);
        }
        let tunnel = tunnel(kind, id);
        if let Encapsulation::Wireguard(network) = &tunnel {
            self.open_session(network);
        }
        for ends in tunnel.ends() {
            self.interfaces.set_tunnel(ends, Some(id));
        }
        let details = Details {
            tunnel: Some(tunnel),
            ..Details::default()
        };
        self.interfaces.set(id, &interface);
        self.interfaces.set_class(id, class_of(id), 0);
        self.interfaces.set_details(id, Arc::new(details));
        for lane in &self.lanes {
            lane.worker.counters().make_room(id);
        }
        self.route_outer(out)?;
        for (number, hop) in (0..).zip(&self.gateways).filter(|_| out) {
            let mut inner = Adjacency {
                mtu: TUNNEL_MTU,
                egress: id,
                out: OutId::tunnel(id),
                ..gateway(self.family, number)
            };
            inner.header[..6].copy_from_slice(&STATION);
            inner.header[6..12].copy_from_slice(&TUNNEL_MAC);
            self.writer.set_next_hop(*hop, &inner);
        }
        Ok(())
    }

    /// Sets IPsec policies. With `out` they apply to all leaving packets, otherwise to received
    /// packets.
    pub(super) fn protect(&mut self, ipsec: Ipsec, out: bool) -> Result<(), Invalid> {
        self.route_outer(out)?;
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.ipsec = ipsec;
        for family in [&mut snapshot.ipv4, &mut snapshot.ipv6] {
            family.slow = [SlowReason::IpsecPolicies].into_iter().collect();
        }
        self.snapshot.store(Arc::new(snapshot));
        Ok(())
    }

    /// Routes outer packets: with `out` those to [`FAR_END`], otherwise those to the router itself.
    pub(super) fn route_outer(&mut self, out: bool) -> Result<(), Invalid> {
        let local = Adjacency {
            kind: Kind::Local,
            egress: INGRESS,
            ..Adjacency::default()
        };
        let (outer, address) = match out {
            true => (gateway(Family::Ipv4, 0xfc), FAR_END),
            false => (local, OWN4),
        };
        let full = |_| Invalid::TableFull;
        let hop = self.writer.add_next_hop(&outer).map_err(full)?;
        let table = self.writer.table(0).map_err(full)?;
        let written = table.ipv4.change([(Network::new(address, 32), hop)]);
        written.map_err(|_| Invalid::TableFull)
    }

    /// Changes the next hop of the clients.
    pub(super) fn lead_clients(&mut self, hop: &Adjacency) {
        if let Some(clients) = self.clients {
            self.writer.set_next_hop(clients, hop);
        }
    }

    /// Opens a WireGuard session that accepts repeated messages, because the templates repeat.
    fn open_session(&self, network: &Wireguard) {
        if let Some(peer) = network.allowed.get(Ipv4Addr::from_bits(FAR_END).into()) {
            let arriving = Arriving {
                session: Receiving::without_window(&KEY),
                peer: Arc::clone(peer),
                interface: network.id,
            };
            self.interfaces.sessions().put(SESSION, Arc::new(arriving));
        }
        let details = Details {
            address4: Some(Ipv4Addr::from_bits(OWN4)),
            ..Details::default()
        };
        self.interfaces.set_details(EGRESS, Arc::new(details));
    }

    /// Sets routing rules.
    pub(super) fn set_routing_rules(&mut self, rules: RoutingRules) {
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.rules = rules;
        for family in [&mut snapshot.ipv4, &mut snapshot.ipv6] {
            let reasons = [SlowReason::RoutingRules, SlowReason::FirewallRules];
            family.slow = reasons.into_iter().collect();
        }
        self.snapshot.store(Arc::new(snapshot));
    }

    /// Sets simple queues.
    pub(super) fn queue(&mut self, changes: &[Change]) {
        self.tell(changes);
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.queues = true;
        for family in [&mut snapshot.ipv4, &mut snapshot.ipv6] {
            family.slow = [SlowReason::Queues].into_iter().collect();
        }
        self.snapshot.store(Arc::new(snapshot));
    }

    /// Makes all packets leave by the queues of the far side.
    pub(super) fn queue_far_side(&mut self, leaf: &Arc<Leaf>) {
        self.tell(&[
            Change::Interface(EGRESS, OutId::port(1)),
            Change::Leaf(EGRESS, 1, Vec::new(), Arc::clone(leaf)),
        ]);
        for (number, hop) in (0..).zip(&self.gateways) {
            let queued = Adjacency {
                out: OutId::queue(EGRESS),
                ..gateway(self.family, number)
            };
            self.writer.set_next_hop(*hop, &queued);
        }
    }

    fn tell(&self, changes: &[Change]) {
        for remote in &self.remotes {
            changes
                .iter()
                .for_each(|change| remote.changes.push(change.clone()));
        }
    }

    /// Makes all packets leave by a bond of both ports, with the hash over addresses and ports.
    pub(super) fn bond(&mut self) {
        let id = InterfaceId(EGRESS.0 + 1);
        let interface = Interface {
            under: id,
            out: OutId::bond(id),
            ..ethernet(FAR_MAC, 1)
        };
        let slave = |(interface, port)| Slave {
            interface,
            out: OutId::port(port),
            takes: Takes::All,
            mac: None,
        };
        let bond = Bond::new(
            id,
            Mac(FAR_MAC),
            [(EGRESS, 1), (INGRESS, 0)].map(slave),
            Sends::Hashed(HashPolicy::Layer34, vec![0, 1]),
            Arc::default(),
        );
        self.interfaces.set(id, &interface);
        self.interfaces.set_class(id, class_of(id), 0);
        self.interfaces.set_details(id, Arc::default());
        self.interfaces.bonds().set(id, Some(Arc::new(bond)));
        for lane in &self.lanes {
            lane.worker.counters().make_room(id);
        }
        for (number, hop) in (0..).zip(&self.gateways) {
            let mut bonded = gateway(self.family, number);
            (bonded.egress, bonded.out) = (id, OutId::bond(id));
            self.writer.set_next_hop(*hop, &bonded);
        }
    }

    fn add_vlan(&self, id: InterfaceId, on: InterfaceId, mac: [u8; 6], port: u16, vlan_id: u16) {
        let interface = Interface {
            under: on,
            ..ethernet(mac, port)
        };
        self.interfaces.set(id, &interface);
        self.interfaces.set_class(id, class_of(id), 0);
        self.interfaces.set_details(id, Arc::default());
        let tag = Tag {
            ethertype: 0x8100,
            vlan_id,
        };
        self.interfaces.set_vlan(on, tag, Some(id));
        for lane in &self.lanes {
            lane.worker.counters().make_room(id);
        }
    }

    /// Returns the interfaces.
    pub(super) fn interfaces(&self) -> &InterfaceTable {
        &self.interfaces
    }

    /// Returns the writer of routes and next hops.
    pub(super) fn writer(&mut self) -> &mut FibWriter {
        &mut self.writer
    }

    /// Allocates the workers' counters for an interface.
    pub(super) fn make_room(&mut self, id: InterfaceId) {
        for lane in &self.lanes {
            lane.worker.counters().make_room(id);
        }
    }

    /// Loads templates for each worker; the closure gets the worker's number.
    pub(super) fn load_these(&mut self, templates: impl Fn(&Self, u64) -> Templates) {
        for (index, lane) in (0..).zip(&self.lanes) {
            lane.meter.load([Some(templates(self, index)), None]);
        }
    }

    /// Returns the workers.
    pub(super) fn lanes(&mut self) -> &mut [DrivenWorker] {
        &mut self.lanes
    }

    /// Returns random routed addresses; IPv4 in the low 32 bits.
    pub(super) fn destinations(&self, count: u32, seed: u64) -> Vec<u128> {
        match &self.networks {
            Networks::V4(networks) => destinations(networks, count, seed)
                .into_iter()
                .map(u128::from)
                .collect(),
            Networks::V6(networks) => destinations(networks, count, seed),
        }
    }

    /// Loads each worker with packets of its own flows for the next runs.
    pub(super) fn load(&mut self, flows: u32, frame: u16, seed: u64) {
        for (index, lane) in (0..).zip(&self.lanes) {
            let templates = Templates::new(self, flows, frame, seed + index);
            lane.meter.load([Some(templates), None]);
        }
    }
}

impl DrivenWorker {
    fn new(parts: Parts, remote: &mut Remote) -> Self {
        let meter = Arc::new(Meter::default());
        for number in [0, 1] {
            let port = Box::new(End::new(number, Arc::clone(&meter)));
            // A ring always has room for two commands.
            let _ = remote.commands.push(Command::Attach { number, port });
        }
        Self {
            worker: Worker::new(parts),
            now: Instant::ZERO + BEGINNING,
            vector_time: VECTOR_TIME,
            meter,
        }
    }

    /// Returns the worker's index.
    pub(super) fn index(&self) -> u16 {
        self.worker.index()
    }

    /// Returns the meter of the worker's ports.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the number of IPv4 packets that FastTrack has forwarded.
    pub(super) fn fasttracked(&self) -> u64 {
        self.worker.counters().ipv4_fasttrack.get().packets
    }

    /// Returns the reasons for which packets were dropped, with their numbers.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        let counters = self.worker.counters();
        let all = DropReason::ALL.iter();
        let all = all.map(|reason| (reason.name(), counters.drops(*reason)));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Sets the time by which the worker's clock advances with each vector.
    pub(super) fn set_vector_time(&mut self, time: Duration) {
        self.vector_time = time;
    }

    /// Walks this many packets, fewer if they are long, in vectors from both sides in turn if both send. Returns cycles
    /// per packet.
    pub(super) fn run(&mut self, packets: usize) -> Result<f64, Invalid> {
        self.meter.take();
        let vectors = packets / VECTOR_FRAMES;
        for _ in 0..vectors {
            self.now += self.vector_time;
            self.worker.step(self.now);
            self.meter.turn();
        }
        let counts = self.meter.take();
        let (expected, sent) = (counts.received, counts.sent);
        if expected != sent || sent == 0 {
            return Err(Invalid::Lost {
                expected,
                sent,
                drops: self.drops(),
            });
        }
        Ok(counts.clocks as f64 / sent as f64)
    }
}

/// The routed networks.
pub(super) enum Networks {
    V4(Vec<Network<u32>>),
    V6(Vec<Network<u128>>),
}

/// Writes the routes. Returns the networks.
pub(super) fn fill(
    writer: &mut FibWriter,
    family: Family,
    routes: u32,
    seed: u64,
) -> Result<(Networks, Vec<NextHopId>), Invalid> {
    let gateways = (0..GATEWAYS)
        .map(|number| writer.add_next_hop(&gateway(family, number as u8)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Invalid::TableFull)?;
    let table = writer.table(0).map_err(|_| Invalid::TableFull)?;
    let mut rng = Rng::seeded(seed ^ 0x5a1f);
    let chosen = || gateways[rng.below(GATEWAYS as u64) as usize];
    let (networks, filled) = match family {
        Family::Ipv4 => {
            let networks = networks(routes, seed);
            let filled = table
                .ipv4
                .change(networks.iter().copied().zip(repeat_with(chosen)));
            (Networks::V4(networks), filled)
        }
        Family::Ipv6 => {
            let networks = networks(routes, seed);
            let filled = table
                .ipv6
                .change(networks.iter().copied().zip(repeat_with(chosen)));
            (Networks::V6(networks), filled)
        }
    };
    filled.map_err(|_| Invalid::TableFull)?;
    Ok((networks, gateways))
}

/// Adds routes to the sources of packets, for answers.
fn way_back(writer: &mut FibWriter, family: Family) -> Result<NextHopId, Invalid> {
    let hop = writer.add_next_hop(&client(family));
    let hop = hop.map_err(|_| Invalid::TableFull)?;
    let table = writer.table(0).map_err(|_| Invalid::TableFull)?;
    let networks = sources(family);
    let written = match family {
        Family::Ipv4 => {
            let networks = networks.map(|(bits, len)| (Network::new(bits as u32, len), hop));
            table.ipv4.change(networks)
        }
        Family::Ipv6 => {
            let networks = networks.map(|(bits, len)| (Network::new(bits, len), hop));
            table.ipv6.change(networks)
        }
    };
    written.map_err(|_| Invalid::TableFull)?;
    Ok(hop)
}

/// Adds the default route of the second uplink's table.
fn uplink(writer: &mut FibWriter, family: Family) -> Result<(), Invalid> {
    let hop = writer.add_next_hop(&gateway(family, 0xfd));
    let hop = hop.map_err(|_| Invalid::TableFull)?;
    let table = writer
        .table(MARKED as u16)
        .map_err(|_| Invalid::TableFull)?;
    let written = match family {
        Family::Ipv4 => table.ipv4.change([(Network::new(0, 0), hop)]),
        Family::Ipv6 => table.ipv6.change([(Network::new(0, 0), hop)]),
    };
    written.map_err(|_| Invalid::TableFull)
}

/// Returns random networks; only the default route for one route.
fn networks<A: workload::Family>(routes: u32, seed: u64) -> Vec<Network<A>> {
    match routes {
        0 | 1 => vec![Network::new(A::default(), 0)],
        _ => workload::networks(routes as usize, seed),
    }
}

/// Returns random addresses in these networks; for the default route, in the address space of
/// networks.
fn destinations<A: workload::Family>(networks: &[Network<A>], count: u32, seed: u64) -> Vec<A> {
    let count = count as usize;
    if networks.len() > 1 {
        return workload::destinations(networks, count, seed);
    }
    let mut rng = Rng::seeded(seed);
    (0..count).map(|_| A::random(&mut rng)).collect()
}

/// Returns the class of an interface: each interface has its own.
pub(super) const fn class_of(id: InterfaceId) -> Class {
    Class(id.0 as u16)
}

fn interfaces() -> InterfaceTable {
    let interfaces = InterfaceTable::new();
    for address in [0x0a00_0001, OWN4] {
        let address = Ipv4Addr::from_bits(address).into();
        interfaces.own().add(address).expect("room");
    }
    for address in [CLIENTS6 | 1, OWN6, 0xfe80 << 112 | 1] {
        let address = Ipv6Addr::from_bits(address).into();
        interfaces.own().add(address).expect("room");
    }
    let far = Details {
        address4: Some(Ipv4Addr::from_bits(OWN4)),
        addresses6: vec![Own6 {
            address: Ipv6Addr::from_bits(OWN6),
            len: 64,
        }],
        ..Details::default()
    };
    let all = [
        (INGRESS, "ether1", MAC, 0, Details::default()),
        (EGRESS, "ether2", FAR_MAC, 1, far),
    ];
    for (id, name, mac, port, details) in all {
        let interface = Interface {
            under: id,
            ..ethernet(mac, port)
        };
        let name = Arc::from(name);
        interfaces.set(id, &interface);
        interfaces.set_class(id, class_of(id), 0);
        interfaces.set_details(id, Arc::new(Details { name, ..details }));
    }
    interfaces
}

/// Returns a running interface with an Ethernet header.
fn ethernet(mac: [u8; 6], port: u16) -> Interface {
    Interface {
        running: true,
        ethernet: true,
        ipv4: true,
        ipv6: true,
        mac: Mac(mac),
        mtu: ETHERNET_MTU,
        out: OutId::port(port),
        ..Interface::default()
    }
}

fn snapshot(firewall: Firewall) -> Snapshot {
    let binding = |interface| PortBinding {
        interface,
        ..PortBinding::default()
    };
    let settings = FamilySettings {
        forward: true,
        allow_fast_path: true,
        ..FamilySettings::default()
    };
    Snapshot {
        firewall: Arc::new(firewall),
        ports: vec![binding(INGRESS), binding(EGRESS)],
        send_redirects: true,
        ipv4: settings,
        ipv6: settings,
        ..Snapshot::default()
    }
}
