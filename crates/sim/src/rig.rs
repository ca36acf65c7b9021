//! The walk's tables for a router between two links, to ask it about single packets.

use std::sync::Arc;

use dataplane::snapshot::{FamilySettings, Interface, OwnAddresses, PortBinding, Walk};
use dataplane::table::{Adjacency, FibWriter, Kind, Network};
use dataplane::trace::Walked;
use dataplane::{Snapshot, trace_packet};
use frame::InterfaceId;
use wire::Mac;

use crate::odd::Hosts;

/// The client's link.
pub(crate) const LAN: InterfaceId = InterfaceId(1);
/// The server's link, where everything else is as well.
pub(crate) const WAN: InterfaceId = InterfaceId(2);

/// A router that decides and never sends.
pub(crate) struct Rig {
    snapshot: Snapshot,
    fib: FibWriter,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let hosts = Hosts::example();
        Self {
            snapshot: snapshot(&hosts),
            fib: fib(&hosts),
        }
    }

    /// What becomes of a frame from the client.
    pub(crate) fn trace(&self, frame: &[u8]) -> Walked {
        trace_packet(&self.snapshot, self.fib.fib(), frame, LAN)
    }
}

fn snapshot(hosts: &Hosts) -> Snapshot {
    let walk = Walk {
        enabled: true,
        ..Walk::default()
    };
    let interface = |name: &str, mac, port| Interface {
        name: Arc::from(name),
        running: true,
        mac,
        mtu: 1700,
        port,
        ethernet: true,
        ipv4: walk.clone(),
        ipv6: walk.clone(),
        ..Interface::default()
    };
    let settings = FamilySettings {
        forward: true,
        ..FamilySettings::default()
    };
    let binding = |interface| PortBinding {
        interface,
        ..PortBinding::default()
    };
    Snapshot {
        interfaces: vec![
            Interface::default(),
            interface("lan", hosts.router_mac, 0),
            interface("wan", Mac([2, 0, 0, 0, 0, 2]), 1),
        ],
        ports: vec![binding(LAN), binding(WAN)],
        own: OwnAddresses::new(vec![hosts.router.to_bits()], vec![hosts.router6.to_bits()]),
        ipv4: settings,
        ipv6: settings,
        ..Snapshot::default()
    }
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
    // A default route: what is dropped is not dropped for want of one.
    table.ipv4.insert(Network::new(0, 0), server).expect("room");
    table.ipv6.insert(Network::new(0, 0), server).expect("room");
    table
        .ipv6
        .insert(Network::new(hosts.router6.to_bits(), 128), local)
        .expect("room");
    writer
}
