//! A router whose workers each sit between a port that copies templates and one that takes
//! everything.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::iter::repeat_with;
use std::sync::Arc;

use arc_swap::ArcSwap;
use frame::{InterfaceId, Pool, Sizes, VECTOR_FRAMES};
use machine::{Duration, Instant, Rng};
use queue::Leaf;
use wire::Mac;

use super::dug::{Dug, FAR_STATION, KEY, SESSION, station, tunnel};
use super::ends::{End, Meter};
use super::hops::{client, gateway, tagged};
use super::packets::Templates;
use super::rules::sources;
use super::{Family, Invalid};
use crate::workload;
use dataplane::bond::{Bond, HashPolicy, Sends, Slave, Takes};
use dataplane::connection;
use dataplane::counters::Counters;
use dataplane::encap::Encapsulation;
use dataplane::encap::wireguard::{Arriving, Wireguard};
use dataplane::firewall::Firewall;
use dataplane::interface::{Details, Interface, InterfaceTable, Own6, Tag};
use dataplane::ipsec::Ipsec;
use dataplane::out::OutId;
use dataplane::queueing::Change;
use dataplane::rings::{Command, Remote, rings};
use dataplane::rule::Class;
use dataplane::snapshot::{FamilySettings, PortBinding, SlowReason, Snapshot};
use dataplane::table::{Adjacency, FibWriter, Kind, Network, NextHopId};
use dataplane::worker::{Parts, Worker};
use wireguard::session::Receiving;

/// The router's link address.
pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The link address of the clients.
pub(super) const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
/// Its link address on the other side.
pub(super) const FAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// Where clients are.
pub(super) const INGRESS: InterfaceId = InterfaceId(1);
/// Where everybody else is.
pub(super) const EGRESS: InterfaceId = InterfaceId(2);
/// 100.64.0.0/16 (of RFC 6598's): plain sources that no other part of the benchmark uses.
pub(super) const CLIENTS4: u32 = 0x6440_0000;
/// 2001:db8::/64 (RFC 3849).
pub(super) const CLIENTS6: u128 = 0x2001_0db8 << 96;
/// The router's addresses on the far side, which masquerade gives.
pub(super) const OWN4: u32 = 0x0a00_0101;
/// The other end of the tunnel.
pub(super) const FAR_END: u32 = 0x0a00_0202;
const OWN6: u128 = 0x2001_0db8_0001 << 80 | 1;
/// Counters of rules: more than any row has.
const RULES: u32 = 2048;
/// What the clock that workers are told goes on by with each vector.
const VECTOR_TIME: Duration = Duration::from_micros(10);
/// What the clock of a worker says when it begins: by then the buckets of queues are full, so that a worker that the
/// others have left behind does not find what they charged to its future.
const BEGINNING: Duration = Duration::from_secs(1);
/// The table of a second uplink, and the mark that leads there.
pub(super) const MARKED: u32 = 1;
/// The VLAN that packets leave with in rows with tags.
pub(super) const FAR_VLAN: u16 = 100;
/// The MTU of the tunnel.
const TUNNEL_MTU: u32 = 1450;
/// The link address of a network's interface, and that of a station behind its other end.
pub(super) const TUNNEL_MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub(super) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 4];
/// The number of the network.
pub(super) const VNI: u32 = 5001;
/// Next hops that the routes of a large table are spread over.
const GATEWAYS: usize = 16;

/// See the module.
pub(super) struct Rig {
    family: Family,
    /// The networks that are routed, for choosing destinations.
    networks: Networks,
    lanes: Vec<Lane>,
    interfaces: Arc<InterfaceTable>,
    writer: FibWriter,
    /// The next hops that routes are spread over.
    gateways: Vec<NextHopId>,
    /// The next hop of the clients; `None` without a firewall, where nothing is answered.
    clients: Option<NextHopId>,
    remotes: Vec<Remote>,
    snapshot: Arc<ArcSwap<Snapshot>>,
}

/// A worker between ports of its own.
pub(super) struct Lane {
    worker: Worker,
    now: Instant,
    /// What `now` goes on by with each vector.
    vector_time: Duration,
    meter: Arc<Meter>,
}

impl Rig {
    /// A router of so many workers, with such a table and such rules.
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
            medium: 16,
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
            lanes.push(Lane::new(parts, remote));
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

    /// So many VLANs come to lie on the near side, and everything leaves by one on the far side.
    pub(super) fn tag(&mut self, vlans: u16) {
        for vlan_id in 1..=vlans {
            let id = InterfaceId(EGRESS.0 + u32::from(vlan_id));
            self.add_vlan(id, (INGRESS, MAC, 0), vlan_id);
        }
        let far = InterfaceId(EGRESS.0 + u32::from(vlans) + 1);
        self.add_vlan(far, (EGRESS, FAR_MAC, 1), FAR_VLAN);
        for (number, hop) in (0..).zip(&self.gateways) {
            let far = tagged(gateway(self.family, number), far, FAR_VLAN);
            self.writer.set_next_hop(*hop, &far);
        }
    }

    /// A tunnel comes to be between the router's address on the far side and [`FAR_END`]: everything leaves by it,
    /// or what comes in may come out of it.
    pub(super) fn dig(&mut self, kind: Dug, out: bool) -> Result<(), Invalid> {
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

    /// Packets meet policies of IPsec: everything leaves by them, or what comes in is of them.
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

    /// Routes outer packets: those that leave to [`FAR_END`], or those that arrive to the router itself.
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

    /// Messages of a session arrive any number of times, as the same packets come over and over.
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

    /// Packets meet these simple queues.
    pub(super) fn queue(&mut self, changes: &[Change]) {
        self.tell(changes);
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.queues = true;
        for family in [&mut snapshot.ipv4, &mut snapshot.ipv6] {
            family.slow = [SlowReason::Queues].into_iter().collect();
        }
        self.snapshot.store(Arc::new(snapshot));
    }

    /// Everything leaves by the queues of the far side.
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

    /// Everything leaves by a bond of both ports, by addresses and ports of packets.
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
            (id, Mac(FAR_MAC)),
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

    fn add_vlan(
        &self,
        id: InterfaceId,
        (on, mac, port): (InterfaceId, [u8; 6], u16),
        vlan_id: u16,
    ) {
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

    /// Its interfaces.
    pub(super) fn interfaces(&self) -> &InterfaceTable {
        &self.interfaces
    }

    /// Its routes and next hops.
    pub(super) fn writer(&mut self) -> &mut FibWriter {
        &mut self.writer
    }

    /// Workers count for this interface, too.
    pub(super) fn make_room(&mut self, id: InterfaceId) {
        for lane in &self.lanes {
            lane.worker.counters().make_room(id);
        }
    }

    /// Gives each worker these packets.
    pub(super) fn load_these(&mut self, templates: impl Fn(&Self, u64) -> Templates) {
        for (index, lane) in (0..).zip(&self.lanes) {
            lane.meter.load([Some(templates(self, index)), None]);
        }
    }

    /// The workers.
    pub(super) fn lanes(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// Random addresses that are routed; IPv4 in the low 32 bits.
    pub(super) fn destinations(&self, count: u32, seed: u64) -> Vec<u128> {
        match &self.networks {
            Networks::V4(networks) => destinations(networks, count, seed)
                .into_iter()
                .map(u128::from)
                .collect(),
            Networks::V6(networks) => destinations(networks, count, seed),
        }
    }

    /// Gives each worker the packets that its next runs send, of flows of its own.
    pub(super) fn load(&mut self, flows: u32, frame: u16, seed: u64) {
        for (index, lane) in (0..).zip(&self.lanes) {
            let templates = Templates::new(self, flows, frame, seed + index);
            lane.meter.load([Some(templates), None]);
        }
    }
}

impl Lane {
    fn new(parts: Parts, remote: &mut Remote) -> Self {
        let meter = Arc::new(Meter::default());
        for number in [0, 1] {
            let port = Box::new(End::new(number, Arc::clone(&meter)));
            // Two commands fit any ring.
            let _ = remote.commands.push(Command::Attach { number, port });
        }
        Self {
            worker: Worker::new(parts),
            now: Instant::ZERO + BEGINNING,
            vector_time: VECTOR_TIME,
            meter,
        }
    }

    /// Which worker it is.
    pub(super) fn index(&self) -> u16 {
        self.worker.index()
    }

    /// What vectors are made of.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// IPv4 packets that FastTrack forwarded so far.
    pub(super) fn fasttracked(&self) -> u64 {
        self.worker.counters().ipv4_fasttrack.get().packets
    }

    /// What the worker's clock goes on by with each vector from now on.
    pub(super) fn set_vector_time(&mut self, time: Duration) {
        self.vector_time = time;
    }

    /// Walks this many packets, in vectors from both sides in turn where both send; clocks per
    /// packet, over all of them.
    pub(super) fn run(&mut self, packets: usize) -> Result<f64, Invalid> {
        self.meter.take();
        let vectors = packets / VECTOR_FRAMES;
        for _ in 0..vectors {
            self.now += self.vector_time;
            self.worker.step(self.now);
            self.meter.turn();
        }
        let (sent, clocks) = self.meter.take();
        let expected = (vectors * VECTOR_FRAMES) as u64;
        if expected != sent {
            return Err(Invalid::Lost { expected, sent });
        }
        Ok(clocks as f64 / sent.max(1) as f64)
    }
}

/// What is routed.
pub(super) enum Networks {
    V4(Vec<Network<u32>>),
    V6(Vec<Network<u128>>),
}

/// Writes the routes; returns the networks.
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

/// The routes to what packets come from, for what is answered.
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

/// The table of a second uplink: its default route.
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

/// Random networks; the default route if there is to be one only.
fn networks<A: workload::Family>(routes: u32, seed: u64) -> Vec<Network<A>> {
    match routes {
        0 | 1 => vec![Network::new(A::default(), 0)],
        _ => workload::networks(routes as usize, seed),
    }
}

/// Random addresses in these networks; for the default route, any that networks are given.
fn destinations<A: workload::Family>(networks: &[Network<A>], count: u32, seed: u64) -> Vec<A> {
    let count = count as usize;
    if networks.len() > 1 {
        return workload::destinations(networks, count, seed);
    }
    let mut rng = Rng::seeded(seed);
    (0..count).map(|_| A::random(&mut rng)).collect()
}

/// What rules know an interface by: each is a class by itself.
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

/// A running interface with an Ethernet header.
fn ethernet(mac: [u8; 6], port: u16) -> Interface {
    Interface {
        running: true,
        ethernet: true,
        ipv4: true,
        ipv6: true,
        mac: Mac(mac),
        mtu: 1500,
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
