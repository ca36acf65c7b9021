//! Data plane tables of a router between two links, to trace single packets.

use std::sync::Arc;

use dataplane::interface::{Details, Interface, InterfaceTable, Session};
use dataplane::out::OutId;
use dataplane::service::{Match, Rate, Service, ServiceId, Services};
use dataplane::snapshot::{FamilySettings, PortBinding};
use dataplane::table::{Adjacency, FibWriter, Kind, Network};
use dataplane::trace::{Walked, WorkerTables};
use dataplane::{Snapshot, trace_packet};
use frame::InterfaceId;
use wire::Mac;

use crate::odd::Hosts;

/// Link of the client.
pub const LAN: InterfaceId = InterfaceId(1);
/// Link of the server, and of the default route.
pub const WAN: InterfaceId = InterfaceId(2);
/// PPPoE session on the client's link, in a rig with session.
const SESSION: InterfaceId = InterfaceId(3);

/// A router that traces packets and never sends.
pub struct Rig {
    snapshot: Snapshot,
    interfaces: InterfaceTable,
    fib: FibWriter,
}

impl Rig {
    /// Builds the tables of [`Hosts::example`].
    pub fn example() -> Self {
        let hosts = Hosts::example();
        Self {
            snapshot: snapshot(),
            interfaces: interfaces(&hosts),
            fib: fib(&hosts),
        }
    }

    /// Builds the tables of [`Hosts::example`] with a PPPoE session on the client's link.
    pub fn with_session(session: Session) -> Self {
        let rig = Self::example();
        let line = Interface {
            running: true,
            ipv4: true,
            ipv6: true,
            mtu: 1492,
            out: OutId::port(0),
            under: LAN,
            ..Interface::default()
        };
        rig.interfaces.set(SESSION, &line);
        let set = rig.interfaces.set_session(SESSION, LAN, session);
        assert!(set, "there is no other session");
        rig
    }

    /// Traces a frame from the client.
    pub fn trace(&self, frame: &[u8]) -> Walked {
        let tables = WorkerTables {
            snapshot: &self.snapshot,
            interfaces: &self.interfaces,
            fib: self.fib.fib(),
        };
        trace_packet(tables, frame, LAN)
    }
}

fn interfaces(hosts: &Hosts) -> InterfaceTable {
    let interfaces = InterfaceTable::new();
    for address in [hosts.router.into(), hosts.router6.into()] {
        interfaces.own().add(address).expect("room");
    }
    let wan_mac = Mac([2, 0, 0, 0, 0, 2]);
    for (id, name, mac, port) in [(LAN, "lan", hosts.router_mac, 0), (WAN, "wan", wan_mac, 1)] {
        let interface = Interface {
            running: true,
            ethernet: true,
            ipv4: true,
            ipv6: true,
            mac,
            mtu: 1700,
            out: OutId::port(port),
            under: id,
            ..Interface::default()
        };
        let details = Details {
            name: Arc::from(name),
            ..Details::default()
        };
        interfaces.set(id, &interface);
        interfaces.set_details(id, Arc::new(details));
    }
    interfaces
}

fn snapshot() -> Snapshot {
    let settings = FamilySettings {
        forward: true,
        ..FamilySettings::default()
    };
    let binding = |interface| PortBinding {
        interface,
        ..PortBinding::default()
    };
    Snapshot {
        ports: vec![binding(LAN), binding(WAN)],
        ipv4: settings,
        ipv6: settings,
        services: Arc::new(services()),
        ..Snapshot::default()
    }
}

/// ICMP as a local service.
fn services() -> Services {
    let icmp = [(false, 1), (true, 58)];
    let icmp = icmp.map(|(ipv6, protocol)| Match::Protocol { ipv6, protocol });
    let rate = Rate {
        per_second: 1,
        burst: 1,
    };
    let mut services = Services::default();
    let id = ServiceId::new(0).expect("a place");
    let added = services.add(id, &Service::new("icmp", icmp, rate));
    added.expect("it is the only one");
    services
}

fn fib(hosts: &Hosts) -> FibWriter {
    let mut writer = FibWriter::new();
    let mut hop = |kind, egress| {
        let mtu = hosts.mtu.into();
        let adjacency = Adjacency {
            kind,
            egress,
            mtu,
            header_len: 14,
            out: OutId::port(1),
            ..Adjacency::default()
        };
        writer.add_next_hop(&adjacency).expect("room")
    };
    let server = hop(Kind::Forward, WAN);
    let local = hop(Kind::Local, LAN);
    let broadcast = hop(Kind::Broadcast, WAN);
    let table = writer.table(0).expect("the main table");
    for (address, hop) in [
        (hosts.server, server),
        (hosts.router, local),
        (hosts.server_broadcast, broadcast),
    ] {
        table
            .ipv4
            .insert(Network::new(address.to_bits(), 32), hop)
            .expect("room");
    }
    // The default route excludes drops for lack of a route.
    table.ipv4.insert(Network::new(0, 0), server).expect("room");
    table.ipv6.insert(Network::new(0, 0), server).expect("room");
    table
        .ipv6
        .insert(Network::new(hosts.router6.to_bits(), 128), local)
        .expect("room");
    writer
}
