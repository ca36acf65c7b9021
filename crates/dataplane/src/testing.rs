//! A router for tests, with scripted ports.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use frame::shortcut::{AddressPair, ConnectionTraffic, FlowOffload, Service, Shortcut};
use frame::{
    Frame, InterfaceId, Offload, Offloads, Pool, Port, PortCounters, Sizes, Transmitted, Vector,
};
use machine::{Instant, Rng};
pub(crate) use samples::{MAC, Udp4, Udp6, arp, ethernet, seal, sum};
use wire::Mac;

use crate::connection;
use crate::counters::{Counters, InterfaceTraffic, interface_traffic};
use crate::interface::{Details, Interface, InterfaceTable, Tag};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::rings::{Command, Remote, rings};
use crate::rule::Class;
use crate::service::{self, FrameContent, Match, Rate, ServiceId, Services};
use crate::snapshot::{FamilySettings, PortBinding, Role, SlowReason, Snapshot};
use crate::table::{Adjacency, FibWriter, Kind, Network, NextHopId};
use crate::trace::WorkerTables;
use crate::worker::{Parts, Worker};

/// The router's addresses.
const OWN: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 10, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)),
];

/// State of a test port, shared with the test.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) arriving: VecDeque<(Vec<u8>, Offload)>,
    pub(crate) sent: Vec<(Vec<u8>, Offload)>,
    /// The packet mark of received frames, and facts about sent frames: mark, flow, and the
    /// interface below their ingress.
    pub(crate) mark: u32,
    pub(crate) known: Vec<(u32, u32, InterfaceId)>,
    /// Frames that the port still takes; `None`: any number.
    pub(crate) room: Option<usize>,
    /// Flushes that the device still needs to send everything.
    pub(crate) flushes: u32,
    /// The port's counters.
    pub(crate) counters: PortCounters,
    /// Number of a device behind the port, which makes the port learn shortcuts, and the learned
    /// shortcuts.
    pub(crate) device: Option<u32>,
    pub(crate) learned: Vec<Shortcut>,
    /// Traffic of connection shortcuts, and the shortcuts that were ended.
    pub(crate) gathered: Vec<ConnectionTraffic>,
    pub(crate) forgotten: Vec<(AddressPair, Service)>,
}

/// A port whose other end is the test.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestPort(pub(crate) Arc<Mutex<Line>>);

impl TestPort {
    pub(crate) fn line(&self) -> std::sync::MutexGuard<'_, Line> {
        self.0.lock().expect("no test panics while it holds a line")
    }
}

impl Port for TestPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let mut line = self.line();
        let mut count = 0;
        while into.room() > 0
            && let Some((bytes, offload)) = line.arriving.pop_front()
        {
            let mut frame = pool.alloc_from(&bytes).expect("the test's pool is large");
            (frame.offload, frame.mark) = (offload, line.mark);
            into.push(frame).expect("there was room");
            count += 1;
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let mut line = self.line();
        let mut result = Transmitted::default();
        for frame in frames.drain(..) {
            if line.room.is_none_or(|room| line.sent.len() < room) {
                line.sent.push((frame.bytes().to_vec(), frame.offload));
                line.known.push((frame.mark, frame.flow, frame.below));
                result.sent += 1;
            } else {
                result.dropped += 1;
            }
            pool.free(frame);
        }
        result
    }

    fn flush(&mut self, _: &mut Pool) {
        let mut line = self.line();
        line.flushes = line.flushes.saturating_sub(1);
    }

    fn is_sending(&self) -> bool {
        self.line().flushes > 0
    }

    fn counters(&self) -> PortCounters {
        self.line().counters
    }

    fn offload(&mut self) -> Option<&mut dyn FlowOffload> {
        let has = self.line().device.is_some();
        has.then_some(self)
    }
}

impl FlowOffload for TestPort {
    fn begin(&mut self) {}

    fn device(&self) -> u32 {
        self.line().device.expect("only then it is asked")
    }

    fn install(&mut self, shortcut: &Shortcut) {
        self.line().learned.push(*shortcut);
    }

    fn gathers(&self) -> bool {
        !self.line().gathered.is_empty()
    }

    fn gather(&mut self, _: Option<u32>, gathered: &mut dyn FnMut(ConnectionTraffic) -> bool) {
        // The traffic of an ended connection is reported only once.
        self.line().gathered.retain(|one| gathered(*one));
    }

    fn remove(&mut self, between: &AddressPair, service: &Service) {
        self.line().forgotten.push((*between, *service));
    }
}

pub(crate) const ETHER1: InterfaceId = InterfaceId(1);
pub(crate) const ETHER2: InterfaceId = InterfaceId(2);
pub(crate) const VLAN10: InterfaceId = InterfaceId(3);
/// VLAN tag of `vlan10`.
const TAG10: Tag = Tag {
    ethertype: 0x8100,
    vlan_id: 10,
};
/// The port number of `ether1`'s mirror.
pub(crate) const MIRROR: u16 = 2;
/// MAC addresses of frames to the gateway on `ether2`.
pub(crate) const GATEWAY: [u8; 12] = [2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 2];

/// More slots than the rings hold.
pub(crate) const SIZES: Sizes = Sizes {
    small: 4096,
    medium: 64,
    large: 8,
};

/// A router of one or more workers: `ether1` (10.0.0.1/24, 2001:db8:0:a::1/64, optionally VLAN 10)
/// and `ether2`, with a gateway for 11.0.0.0/8 and 2001:db8:0:b::/64 behind it.
pub(crate) struct Rig {
    pub(crate) writer: FibWriter,
    pub(crate) snapshot: Snapshot,
    published: Arc<ArcSwap<Snapshot>>,
    pub(crate) interfaces: Arc<InterfaceTable>,
    /// Interfaces for the next publication.
    given: BTreeMap<InterfaceId, (Interface, Details)>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) connections: Arc<connection::Table>,
    /// The time of the steps, which tests advance.
    pub(crate) now: Instant,
    pub(crate) remotes: Vec<Remote>,
    pub(crate) counters: Vec<Arc<Counters>>,
    pub(crate) pool: Pool,
    /// Ports by number.
    pub(crate) ports: Vec<TestPort>,
    pub(crate) gateway: NextHopId,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with_workers(1)
    }

    /// Creates a rig of `count` workers. Worker 0 has the queues of all ports.
    pub(crate) fn with_workers(count: usize) -> Self {
        let mut writer = FibWriter::new();
        let published = Arc::new(ArcSwap::from_pointee(Snapshot::default()));
        let interfaces = Arc::new(InterfaceTable::new());
        let mut pools = Pool::group(count + 1, SIZES).expect("memory");
        let pool = pools.pop().expect("control's pool");
        let (worker_rings, remotes) = rings(count);
        let counters: Vec<_> = (0..count).map(|_| Arc::new(Counters::new())).collect();
        for counters in &counters {
            assert!(counters.make_room(InterfaceId(255)));
        }
        let settings = connection::Settings::default();
        let (connections, trackers) =
            connection::trackers(count as u16, &settings, &mut Rng::seeded(1))
                .expect("address space");
        let workers = pools
            .into_iter()
            .zip(worker_rings)
            .zip(&counters)
            .zip(trackers)
            .enumerate()
            .map(|(index, (((pool, rings), counters), tracker))| {
                Worker::new(Parts {
                    index: index as u16,
                    pool,
                    snapshot: Arc::clone(&published),
                    interfaces: Arc::clone(&interfaces),
                    fib: Arc::clone(writer.fib()),
                    reader: writer.fib().grace.reader().expect("a free slot"),
                    rings,
                    counters: Arc::clone(counters),
                    tracker,
                    unix_ms: 0,
                })
            })
            .collect();
        let gateway = writer.add_next_hop(&gateway()).expect("room");
        for address in OWN {
            interfaces.own().add(address).expect("room");
        }
        let mut rig = Self {
            writer,
            snapshot: snapshot(count),
            published,
            interfaces,
            given: interfaces_of_rig(),
            workers,
            remotes,
            counters,
            pool,
            ports: Vec::new(),
            gateway,
            connections,
            now: Instant::ZERO,
        };
        rig.routes();
        for number in 0..3 {
            let port = TestPort::default();
            rig.ports.push(port.clone());
            rig.command(Command::Attach {
                number,
                port: Box::new(port),
            });
        }
        rig.publish();
        rig
    }

    fn routes(&mut self) {
        self.route4(0x0b00_0000, 8, self.gateway);
        self.route6(0x2001_0db8_0000_000b << 64, 64, self.gateway);
        let kinds = [
            (0x0a00_0001, 32, Kind::Local),
            (0x0a00_0000, 24, Kind::Glean),
            (0x0a00_00ff, 32, Kind::Broadcast),
            (0x0c01_0000, 16, Kind::Blackhole),
            (0x0c02_0000, 16, Kind::Unreachable),
            (0x0c03_0000, 16, Kind::Prohibit),
            (0x0c04_0000, 16, Kind::Incomplete),
        ];
        for (network, len, kind) in kinds {
            let hop = self.hop(kind);
            self.route4(network, len, hop);
        }
        let local = self.hop(Kind::Local);
        self.route6(0x2001_0db8_0000_000a << 64 | 1, 128, local);
        let glean = self.hop(Kind::Glean);
        self.route6(0x2001_0db8_0000_000a << 64, 64, glean);
    }

    /// Adds a next hop of this kind on `ether1`.
    pub(crate) fn hop(&mut self, kind: Kind) -> NextHopId {
        let adjacency = Adjacency {
            kind,
            egress: ETHER1,
            ..gateway()
        };
        self.add_hop(&adjacency)
    }

    pub(crate) fn add_hop(&mut self, adjacency: &Adjacency) -> NextHopId {
        self.writer.add_next_hop(adjacency).expect("room")
    }

    pub(crate) fn route4(&mut self, network: u32, len: u8, hop: NextHopId) {
        self.route4_in(0, network, len, hop);
    }

    pub(crate) fn route4_in(&mut self, table: u16, network: u32, len: u8, hop: NextHopId) {
        let table = self.writer.table(table).expect("a table");
        let network = Network::new(network, len);
        table.ipv4.insert(network, hop).expect("room");
    }

    pub(crate) fn route6(&mut self, network: u128, len: u8, hop: NextHopId) {
        let table = self.writer.table(0).expect("a table");
        let network = Network::new(network, len);
        table.ipv6.insert(network, hop).expect("room");
    }

    /// Makes packets to the gateway leave by `ether1`, their ingress interface.
    pub(crate) fn lead_back(&mut self) {
        let back = Adjacency {
            egress: ETHER1,
            out: OutId::port(0),
            ..gateway()
        };
        self.writer.set_next_hop(self.gateway, &back);
    }

    /// Publishes interfaces and snapshot for the next step.
    pub(crate) fn publish(&mut self) {
        for (id, (interface, details)) in &self.given {
            self.interfaces.set(*id, interface);
            self.interfaces
                .set_class(*id, class_of(*id), self.snapshot.epoch);
            self.interfaces.set_details(*id, Arc::new(details.clone()));
        }
        self.published.store(Arc::new(self.snapshot.clone()));
    }

    pub(crate) fn command(&mut self, command: Command) {
        let pushed = self.remotes[0].commands.push(command);
        pushed.expect("the ring has room");
    }

    pub(crate) fn interface(&mut self, id: InterfaceId) -> &mut Interface {
        &mut self.given.get_mut(&id).expect("an interface").0
    }

    pub(crate) fn details(&mut self, id: InterfaceId) -> &mut Details {
        &mut self.given.get_mut(&id).expect("an interface").1
    }

    /// Gives the router another address.
    pub(crate) fn own(&mut self, address: IpAddr) {
        self.interfaces.own().add(address).expect("room");
    }

    pub(crate) fn use_vlan10(&mut self) {
        self.interfaces.set_vlan(ETHER1, TAG10, Some(VLAN10));
    }

    /// Sets the reasons why IPv4 takes the slow path.
    pub(crate) fn slow4(&mut self, reasons: &[SlowReason]) {
        self.snapshot.ipv4.slow = reasons.iter().copied().collect();
    }

    /// Returns the tables that a trace reads.
    pub(crate) fn tables(&self) -> WorkerTables<'_> {
        WorkerTables {
            snapshot: &self.snapshot,
            interfaces: &self.interfaces,
            fib: self.writer.fib(),
        }
    }

    pub(crate) fn arrive(&mut self, frame: Vec<u8>) {
        self.arrive_unfinished(0, frame, Offload::FINISHED);
    }

    pub(crate) fn arrive_unfinished(&mut self, port: u16, frame: Vec<u8>, offload: Offload) {
        let mut line = self.ports[usize::from(port)].line();
        line.arriving.push_back((frame, offload));
    }

    /// Steps all workers until no work is left.
    pub(crate) fn settle(&mut self) {
        loop {
            let now = self.now;
            let steps = self.workers.iter_mut().map(|worker| worker.step(now));
            if steps.fold(true, |idle, step| idle & step.is_idle()) {
                break;
            }
        }
    }

    /// Passes a frame to `ether1`. Returns the frames that `ether2` sent.
    pub(crate) fn pass(&mut self, frame: Vec<u8>) -> Vec<Vec<u8>> {
        self.arrive(frame);
        self.settle();
        self.sent(1)
    }

    pub(crate) fn sent(&mut self, port: u16) -> Vec<Vec<u8>> {
        let sent = core::mem::take(&mut self.ports[usize::from(port)].line().sent);
        sent.into_iter().map(|(bytes, _)| bytes).collect()
    }

    /// Returns the packets handed to control since the last call, and frees their frames.
    pub(crate) fn punts(&mut self) -> Vec<(PuntReason, Vec<u8>)> {
        let mut punts = Vec::new();
        for remote in &mut self.remotes {
            while let Ok(punt) = remote.punts.pop() {
                punts.push((punt.why, punt.frame.bytes().to_vec()));
                self.pool.free(punt.frame);
            }
        }
        punts
    }

    /// Returns the drop reasons counted so far, with their numbers.
    pub(crate) fn drops(&self) -> Vec<(crate::DropReason, u64)> {
        crate::DropReason::ALL
            .iter()
            .map(|reason| {
                let count = self.counters.iter().map(|c| c.drops(*reason)).sum();
                (*reason, count)
            })
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    pub(crate) fn traffic(&self, id: InterfaceId) -> InterfaceTraffic {
        interface_traffic(self.counters.iter().map(|c| &**c), id)
    }
}

/// Returns the class of an interface: each interface has its own.
pub(crate) const fn class_of(id: InterfaceId) -> Class {
    Class(id.0 as u16)
}

/// Returns the next hop behind `ether2`.
pub(crate) fn gateway() -> Adjacency {
    let mut adjacency = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        out: OutId::port(1),
        mtu: 1500,
        egress: ETHER2,
        ..Adjacency::default()
    };
    adjacency.header[..12].copy_from_slice(&GATEWAY);
    adjacency
}

fn interfaces_of_rig() -> BTreeMap<InterfaceId, (Interface, Details)> {
    let interface = |name: &str, mac, port, under| {
        let line = Interface {
            running: true,
            ethernet: true,
            ipv4: true,
            ipv6: true,
            mac: Mac(mac),
            mtu: 1500,
            out: OutId::port(port),
            under,
            ..Interface::default()
        };
        let details = Details {
            name: Arc::from(name),
            ..Details::default()
        };
        (line, details)
    };
    let mut vlan10 = interface("vlan10", MAC, 0, ETHER1);
    vlan10.1.tags = vec![TAG10];
    BTreeMap::from([
        (ETHER1, interface("ether1", MAC, 0, ETHER1)),
        (ETHER2, interface("ether2", [2, 0, 0, 0, 0, 2], 1, ETHER2)),
        (VLAN10, vlan10),
    ])
}

/// The punt of ARP.
pub(crate) const ARP: PuntReason = heard(0, false);
/// The punt of ICMP of both families.
pub(crate) const ICMP: PuntReason = heard(1, true);

/// Returns the punt of the service with this index.
pub(crate) const fn heard(place: usize, meets_rules: bool) -> PuntReason {
    match ServiceId::new(place) {
        Some(id) => PuntReason::Service { id, meets_rules },
        None => panic!("there is no such place"),
    }
}

/// A rate beyond what tests send.
pub(crate) const RATE: Rate = Rate {
    per_second: 1000,
    burst: 4000,
};

/// Returns the services of the rig, unless a test adds others.
fn services() -> Services {
    let icmp = |ipv6, protocol| Match::Protocol { ipv6, protocol };
    let mut services = Services::default();
    let all = [
        service::Service::new("arp", [Match::Frame(FrameContent::EtherType(0x0806))], RATE),
        service::Service::new("icmp", [icmp(false, 1), icmp(true, 58)], RATE),
    ];
    for (place, service) in all.iter().enumerate() {
        let id = ServiceId::new(place).expect("there are few");
        services.add(id, service).expect("nobody has its matches");
    }
    services
}

fn snapshot(workers: usize) -> Snapshot {
    let binding = |interface, role| PortBinding {
        interface,
        offloads: Offloads::default(),
        role,
        steer: workers > 1 && role == Role::Wire,
        workers: vec![0],
    };
    let settings = FamilySettings {
        forward: true,
        allow_fast_path: true,
        ..FamilySettings::default()
    };
    Snapshot {
        ports: vec![
            binding(ETHER1, Role::Wire),
            binding(ETHER2, Role::Wire),
            binding(ETHER1, Role::Mirror),
        ],
        ipv4: settings,
        ipv6: settings,
        services: Arc::new(services()),
        ..Snapshot::default()
    }
}
