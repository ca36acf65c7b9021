//! Tests of bonds in a whole worker: transmission by slaves, and reception from slaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use frame::{InterfaceId, Offload};
use wire::Mac;

use super::{BUCKETS, Bond, HashPolicy, Loads, Sends, Slave, Takes};
use crate::drop::DropReason;
use crate::interface::{Above, Details, Interface};
use crate::out::OutId;
use crate::rings::Command;
use crate::service::{FrameContent, Match, Scope, Service, ServiceId, ServiceSet, Services};
use crate::snapshot::{PortBinding, Role};
use crate::testing::{ETHER1, RATE, Rig, TestPort, Udp4, ethernet, gateway};
use crate::trace::trace_packet;

const BOND: InterfaceId = InterfaceId(20);
const SLAVES: [InterfaceId; 3] = [InterfaceId(21), InterfaceId(22), InterfaceId(23)];
/// Port numbers of the slaves.
const PORTS: [u16; 3] = [1, 2, 3];
const BOND_MAC: [u8; 6] = [2, 0, 0, 0, 0, 20];
const MACS: [[u8; 6]; 3] = [BOND_MAC, [2, 0, 0, 0, 0, 22], [2, 0, 0, 0, 0, 23]];

/// A router whose gateway is behind a bond of three.
struct World {
    rig: Rig,
    loads: Arc<Loads>,
    slaves: [Slave; 3],
}

impl World {
    fn new(sends: Sends) -> Self {
        let mut rig = Rig::new();
        let port = TestPort::default();
        rig.ports.push(port.clone());
        rig.command(Command::Attach {
            number: 3,
            port: Box::new(port),
        });
        rig.snapshot.ports.truncate(1);
        let line = |mac, id, out, above| Interface {
            running: true,
            ethernet: true,
            ipv4: true,
            ipv6: true,
            mac: Mac(mac),
            mtu: 1500,
            out,
            under: id,
            above,
            ..Interface::default()
        };
        let slaves = core::array::from_fn(|at| {
            let (id, out) = (SLAVES[at], OutId::port(PORTS[at]));
            rig.snapshot.ports.push(PortBinding {
                interface: id,
                role: Role::Wire,
                ..rig.snapshot.ports[0].clone()
            });
            rig.interfaces.set_above(id, BOND);
            let line = line(MACS[at], id, out, Above::Bond);
            rig.interfaces.set(id, &line);
            Slave {
                interface: id,
                out,
                takes: Takes::All,
                mac: None,
            }
        });
        let of_bond = line(BOND_MAC, BOND, OutId::bond(BOND), Above::Nothing);
        rig.interfaces.set(BOND, &of_bond);
        let details = Details {
            name: "bond1".into(),
            ..Details::default()
        };
        rig.interfaces.set_details(BOND, Arc::new(details));
        rig.publish();
        let mut world = Self {
            rig,
            loads: Arc::default(),
            slaves,
        };
        world.lead_out();
        world.set(sends);
        world
    }

    /// Moves the gateway behind the bond.
    fn lead_out(&mut self) {
        let mut adjacency = gateway();
        (adjacency.egress, adjacency.out) = (BOND, OutId::bond(BOND));
        adjacency.header[6..12].copy_from_slice(&BOND_MAC);
        adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
        let id = self.rig.gateway;
        self.rig.writer.set_next_hop(id, &adjacency);
    }

    fn set(&mut self, sends: Sends) {
        let loads = Arc::clone(&self.loads);
        let bond = Bond::new(BOND, Mac(BOND_MAC), self.slaves, sends, loads);
        self.rig.interfaces.bonds().set(BOND, Some(Arc::new(bond)));
    }

    /// Sends these packets to the gateway. Returns the frames that each slave sent.
    fn send(&mut self, packets: impl IntoIterator<Item = Udp4>) -> [Vec<Vec<u8>>; 3] {
        for packet in packets {
            self.rig.arrive(packet.frame());
        }
        self.rig.settle();
        PORTS.map(|port| self.rig.sent(port))
    }

    fn receive(&mut self, at: usize, frame: Vec<u8>) {
        self.rig
            .arrive_unfinished(PORTS[at], frame, Offload::FINISHED);
        self.rig.settle();
    }
}

/// Returns packets of this many flows, two per flow, numbered by their identification.
fn flows(count: u16) -> impl Iterator<Item = Udp4> {
    (0..2 * count).map(move |number| Udp4 {
        source_port: 1000 + number % count,
        payload: 18 + usize::from(number / count),
        ..Udp4::default()
    })
}

fn port_of(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[34], frame[35]])
}

fn counts(sent: &[Vec<Vec<u8>>; 3]) -> [usize; 3] {
    [0, 1, 2].map(|at| sent[at].len())
}

#[test]
fn a_hash_spreads_flows_and_each_keeps_its_slave_and_order() {
    let mut world = World::new(Sends::Hashed(HashPolicy::Layer34, vec![0, 1, 2]));
    let sent = world.send(flows(300));

    let mut slave_of = BTreeMap::new();
    for (at, frames) in sent.iter().enumerate() {
        assert!(frames.len() > 100, "{}", frames.len());
        for frame in frames {
            let known = *slave_of.entry(port_of(frame)).or_insert((at, 0));
            assert_eq!(known.0, at, "a flow has one slave");
            assert!(known.1 < frame.len(), "and keeps its order");
            slave_of.insert(port_of(frame), (at, frame.len()));
        }
        let traffic = world.rig.traffic(SLAVES[at]);
        let bytes: usize = frames.iter().map(Vec::len).sum();
        let counted = (traffic.tx.packets, traffic.tx.bytes);
        assert_eq!(counted, (frames.len() as u64, bytes as u64));
    }
    assert_eq!(slave_of.len(), 300);
    assert_eq!(world.rig.traffic(BOND).tx.packets, 600);
    assert_eq!(world.rig.drops(), []);
}

#[test]
fn a_slave_that_does_not_send_gets_nothing_and_none_is_told_by_name() {
    let mut world = World::new(Sends::Hashed(HashPolicy::Layer34, vec![0, 2]));
    let [first, second, third] = counts(&world.send(flows(100)));
    assert!(first > 50 && second == 0 && third > 50);

    // Numbers that no slave has are dropped.
    world.set(Sends::Hashed(HashPolicy::Layer34, vec![7]));
    assert_eq!(counts(&world.send(flows(1))), [0; 3]);
    world.set(Sends::One(1));
    assert_eq!(counts(&world.send(flows(10))), [0, 20, 0]);
    world.set(Sends::Nothing);
    assert_eq!(counts(&world.send(flows(1))), [0; 3]);
    assert_eq!(world.rig.drops(), [(DropReason::BondDown, 4)]);
}

#[test]
fn turns_spread_a_flow_and_broadcast_sends_a_copy_by_each() {
    let mut world = World::new(Sends::Turns(vec![0, 1, 2]));
    let one_flow = |_| Udp4::default();
    assert_eq!(counts(&world.send((0..9).map(one_flow))), [3; 3]);
    assert_eq!(
        counts(&world.send((0..1).map(one_flow))),
        [1, 0, 0],
        "the turn goes on"
    );
    assert_eq!(counts(&world.send((0..1).map(one_flow))), [0, 1, 0]);

    world.set(Sends::All(vec![0, 1, 2]));
    let sent = world.send((0..4).map(one_flow));
    assert_eq!(counts(&sent), [4; 3]);
    assert!(sent[0] == sent[1] && sent[1] == sent[2]);
    assert_eq!(world.rig.traffic(BOND).tx.packets, 15, "each is sent once");
}

#[test]
fn peers_are_shared_out_and_a_slave_speaks_by_its_own_address() {
    let mut of = Box::new([0; BUCKETS]);
    of.iter_mut()
        .enumerate()
        .for_each(|(at, place)| *place = (at % 3) as u8);
    let mut world = World::new(Sends::Nothing);
    world.slaves[1].mac = Some(Mac(MACS[1]));
    world.slaves[2].mac = Some(Mac(MACS[2]));
    world.set(Sends::Buckets {
        of,
        active: 0,
        receive: false,
    });
    let peers = (0..300).map(|number| Udp4 {
        destination: 0x0b00_0000 + number,
        ..Udp4::default()
    });
    let sent = world.send(peers);
    for (at, frames) in sent.iter().enumerate() {
        assert!(frames.len() > 60, "{}", frames.len());
        assert!(frames.iter().all(|frame| frame[6..12] == MACS[at]));
    }
    let bytes: u64 = world.loads.bytes().iter().sum();
    assert_eq!(bytes, sent.iter().flatten().map(|f| f.len() as u64).sum());
}

/// Returns an ARP packet from the bond to the peer with this address.
fn arp(kind: u8, to: [u8; 6], peer: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, kind];
    packet.extend(BOND_MAC);
    packet.extend([10, 0, 1, 1]);
    packet.extend(to);
    packet.extend(peer);
    let mut frame = ethernet(to, 0x0806, &packet);
    frame[6..12].copy_from_slice(&BOND_MAC);
    frame
}

#[test]
fn replies_of_arp_tell_each_peer_the_address_of_its_slave_and_requests_all_the_same() {
    let mut of = Box::new([1; BUCKETS]);
    of[..128].fill(0);
    let mut world = World::new(Sends::Nothing);
    world.slaves[1].mac = Some(Mac(MACS[1]));
    world.set(Sends::Buckets {
        of,
        active: 0,
        receive: true,
    });
    let mut told = [0; 2];
    for peer in 0..100 {
        let to = [2, 0, 0, 0, 9, peer];
        for frame in [
            arp(2, to, [10, 0, 1, peer]),
            arp(1, [0xff; 6], [10, 0, 1, peer]),
        ] {
            let mut frame = world.rig.pool.alloc_from(&frame).expect("room");
            (frame.egress, frame.l3) = (BOND, 14);
            world.rig.command(Command::Transmit(frame));
        }
        world.rig.settle();
        let sent = PORTS.map(|port| world.rig.sent(port));
        let question = arp(1, [0xff; 6], [10, 0, 1, peer]);
        assert_eq!(sent[0].last(), Some(&question), "by the active slave");
        let slave = usize::from(sent[1].len() == 1);
        let answer = &sent[slave][0];
        assert_eq!(
            (&answer[6..12], &answer[22..28]),
            (&MACS[slave][..], &MACS[slave][..])
        );
        told[slave] += 1;
    }
    assert!(told.iter().all(|count| *count > 25), "{told:?}");
}

#[test]
fn what_slaves_receive_is_the_bonds_as_far_as_it_takes_it() {
    let mut world = World::new(Sends::One(0));
    world.rig.lead_back();
    world.slaves[1].takes = Takes::NotShared;
    world.slaves[1].mac = Some(Mac(MACS[1]));
    world.slaves[2].takes = Takes::Nothing;
    world.set(Sends::One(0));
    let to = |mac| ethernet(mac, 0x0800, &Udp4::default().packet());
    let group = || ethernet([0xff; 6], 0x0806, &[0; 28]);
    for at in 0..3 {
        world.receive(at, to(BOND_MAC));
        world.receive(at, group());
    }

    world.receive(1, to(MACS[1]));

    assert_eq!(world.rig.sent(0).len(), 2, "forwarded");
    assert_eq!(world.rig.punts().len(), 1, "heard by who asked for ARP");
    assert_eq!(world.rig.drops(), [(DropReason::BondInactive, 4)]);
    let received = |id| {
        let traffic = world.rig.traffic(id);
        (traffic.rx.packets, traffic.rx_drop)
    };
    assert_eq!(SLAVES.map(received), [(2, 0), (3, 2), (2, 2)]);
    assert_eq!(received(BOND), (3, 0));
    assert_eq!(world.rig.traffic(ETHER1).tx.packets, 2);
}

#[test]
fn a_slave_whose_bond_is_gone_is_nobodys() {
    let mut world = World::new(Sends::One(0));
    world.rig.interfaces.bonds().set(BOND, None);
    world.receive(0, ethernet(BOND_MAC, 0x0800, &Udp4::default().packet()));
    assert_eq!(world.rig.drops(), [(DropReason::BondInactive, 1)]);
    assert_eq!(counts(&world.send(flows(1))), [0; 3]);
}

#[test]
fn what_is_sent_to_a_slaves_own_address_is_for_the_bond() {
    let mut world = World::new(Sends::One(0));
    world.rig.lead_back();
    let frame = || ethernet(MACS[1], 0x0800, &Udp4::default().packet());
    world.receive(1, frame());
    assert_eq!(world.rig.drops(), [(DropReason::EthernetOther, 1)]);

    world.slaves[1].mac = Some(Mac(MACS[1]));
    world.set(Sends::One(0));
    world.receive(1, frame());
    assert_eq!(world.rig.sent(0).len(), 1);
}

#[test]
fn slow_protocols_are_heard_on_the_slave_whatever_the_bond_takes() {
    let mut world = World::new(Sends::Nothing);
    let id = ServiceId::new(0).expect("there are few");
    let lacp = Service {
        scope: Scope::Asked,
        ..Service::new(
            "lacp",
            [Match::Frame(FrameContent::EtherType(0x8809))],
            RATE,
        )
    };
    let mut services = Services::default();
    services.add(id, &lacp).expect("nobody has its matches");
    world.rig.snapshot.services = Arc::new(services);
    world.rig.publish();
    world.slaves[1].takes = Takes::Nothing;
    world.set(Sends::Nothing);
    let asked = ServiceSet::default().with(id, true);
    world.rig.interfaces.set_services(SLAVES[0], asked);
    world.rig.interfaces.set_services(SLAVES[1], asked);
    let pdu = || ethernet([1, 0x80, 0xc2, 0, 0, 2], 0x8809, &[1; 46]);
    for at in 0..3 {
        world.receive(at, pdu());
    }
    assert_eq!(world.rig.punts().len(), 2, "where it was asked for");
    assert_eq!(world.rig.drops(), [(DropReason::EthernetType, 1)]);
    assert_eq!(world.rig.traffic(SLAVES[1]).rx.packets, 1);
    assert_eq!(world.rig.traffic(BOND).rx.packets, 0);
}

#[test]
fn a_trace_from_a_slave_goes_on_as_the_bonds() {
    let world = World::new(Sends::One(0));
    let frame = ethernet(BOND_MAC, 0x0800, &Udp4::default().packet());
    let walked = trace_packet(world.rig.tables(), &frame, SLAVES[1]);
    let first = walked.lines.first().expect("ingress decided");
    assert_eq!(first.decision, "arrived on bond1");
}
