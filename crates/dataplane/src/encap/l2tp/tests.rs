//! L2TP sessions of one router: their packets leave in datagrams, and datagrams become packets.

use core::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use frame::InterfaceId;

use super::{CallIds, L2tp, Received, Sequence};
use crate::encap::tests::add;
use crate::interface::Interface;
use crate::ipsec::{Action, Policies, Policy, Selector};
use crate::snapshot::Prefix;
use crate::table::NextHopId;
use crate::testing::{MAC, Rig, Udp4, ethernet, seal};
use crate::trace::trace_packet;
use crate::{DropReason, PuntReason};

const SESSION: InterfaceId = InterfaceId(10);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Other end, behind the gateway.
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
/// Host behind the session.
const INSIDE: u32 = 0x1400_0007;
const PORT: u16 = 1701;
const REMOTE_PORT: u16 = 40_000;

fn rig(sequence: Option<Sequence>) -> Rig {
    let mut rig = Rig::new();
    open(&mut rig, SESSION, 9, sequence);
    rig
}

/// Opens a session with this number, and routes a network into it.
fn open(rig: &mut Rig, id: InterfaceId, number: u16, sequence: Option<Sequence>) -> NextHopId {
    open_protected(rig, id, number, sequence, false)
}

/// Opens a session that an IPsec policy protects, or not.
fn open_protected(
    rig: &mut Rig,
    id: InterfaceId,
    number: u16,
    sequence: Option<Sequence>,
    protected: bool,
) -> NextHopId {
    let session = L2tp {
        id,
        local: SocketAddrV4::new(HERE, PORT),
        remote: SocketAddrV4::new(FAR, REMOTE_PORT),
        local_ids: CallIds {
            tunnel: 7,
            session: number,
        },
        remote_ids: CallIds {
            tunnel: 0x1234,
            session: 0x5678 + number - 9,
        },
        sequence,
        received: Received::default(),
        fast: true,
        protected,
    };
    let hop = add(rig, id, session);
    rig.route4(INSIDE & 0xff00_0000, 8, hop);
    hop
}

fn inside() -> Udp4 {
    Udp4 {
        destination: INSIDE,
        ..Udp4::default()
    }
}

/// Returns a datagram of the other end with this L2TP header and a packet.
fn datagram(source: Ipv4Addr, header: &[u8], packet: &[u8]) -> Vec<u8> {
    let outer = Udp4 {
        source: source.to_bits(),
        destination: HERE.to_bits(),
        ..Udp4::default()
    };
    let mut all = outer.packet()[..20].to_vec();
    let length = (8 + header.len() + packet.len()) as u16;
    for word in [REMOTE_PORT, PORT, length, 0] {
        all.extend(word.to_be_bytes());
    }
    all.extend(header);
    all.extend(packet);
    let total = all.len() as u16;
    all[2..4].copy_from_slice(&total.to_be_bytes());
    seal(&mut all);
    ethernet(MAC, 0x0800, &all)
}

const PLAIN: [u8; 10] = [0, 2, 0, 7, 0, 9, 0xff, 3, 0, 0x21];

#[test]
fn packets_leave_in_datagrams_with_the_numbers_of_the_other_end() {
    let mut rig = rig(None);
    let sent = rig.pass(inside().frame());
    let [frame] = &sent[..] else {
        panic!("{} frames, {:?}", sent.len(), rig.drops());
    };
    let packet = &frame[14..];
    assert_eq!((packet[9], &packet[16..20]), (17, &FAR.octets()[..]));
    let mut header = packet[..20].to_vec();
    seal(&mut header);
    assert_eq!(header, packet[..20], "the checksum is right");
    let expected = [
        0x06, 0xa5, 0x9c, 0x40, 0, 0, 0, 0, 0, 2, 0x12, 0x34, 0x56, 0x78, 0xff, 3, 0, 0x21,
    ];
    assert_eq!(packet[20..24], expected[..4]);
    assert_eq!(
        usize::from(u16::from_be_bytes([packet[24], packet[25]])),
        packet.len() - 20
    );
    assert_eq!(packet[26..38], expected[6..]);
    assert_eq!(packet[38 + 16..38 + 20], INSIDE.to_be_bytes());
    assert_eq!(rig.traffic(SESSION).tx.packets, 1);
}

#[test]
fn numbered_sessions_count_their_packets_and_traces_do_not() {
    let mut rig = rig(Some(Sequence::default()));
    for number in 0..3u8 {
        trace_packet(rig.tables(), &inside().frame(), crate::testing::ETHER1);
        let sent = rig.pass(inside().frame());
        let l2tp = &sent[0][14 + 28..];
        assert_eq!(l2tp[..10], [8, 2, 0x12, 0x34, 0x56, 0x78, 0, number, 0, 0]);
        assert_eq!(l2tp[10..14], [0xff, 3, 0, 0x21]);
    }
}

#[test]
fn datagrams_of_all_header_forms_become_packets() {
    let packet = Udp4::default().packet();
    let length = (2 + 2 + 4 + 4 + packet.len()) as u16;
    let [a, b] = length.to_be_bytes();
    let forms: [&[u8]; 5] = [
        &PLAIN,
        &[0, 2, 0, 7, 0, 9, 0, 0x21],
        &[0x40, 2, a, b, 0, 7, 0, 9, 0xff, 3, 0, 0x21],
        &[2, 2, 0, 7, 0, 9, 0, 2, 0xee, 0xee, 0xff, 3, 0, 0x21],
        &[8, 2, 0, 7, 0, 9, 0, 1, 0, 0, 0xff, 3, 0, 0x21],
    ];
    for form in forms {
        let mut rig = rig(None);
        let sent = rig.pass(datagram(FAR, form, &packet));
        let [frame] = &sent[..] else {
            panic!("{form:x?}: {:?}", rig.drops());
        };
        assert_eq!(frame.len(), 14 + packet.len(), "{form:x?}");
        assert_eq!(rig.traffic(SESSION).rx.packets, 1);
    }
}

#[test]
fn foreign_addresses_late_and_malformed_packets_are_dropped_by_name() {
    let packet = Udp4::default().packet();
    let mut rig = rig(None);
    let foreign = Ipv4Addr::new(11, 0, 0, 10);
    assert!(rig.pass(datagram(foreign, &PLAIN, &packet)).is_empty());
    assert_eq!(rig.drops(), [(DropReason::L2tpPeer, 1)]);
    assert!(rig.pass(datagram(FAR, &PLAIN, &packet[..30])).is_empty());
    assert!(rig.drops().contains(&(DropReason::L2tpMalformed, 1)));
    let numbered = |ns: u8| [8, 2, 0, 7, 0, 9, 0, ns, 0, 0, 0xff, 3, 0, 0x21];
    let mut passed = Vec::new();
    for ns in [5, 6, 6, 4, 9] {
        passed.push(rig.pass(datagram(FAR, &numbered(ns), &packet)).len());
    }
    assert_eq!(passed, [1, 1, 0, 0, 1]);
    assert!(rig.drops().contains(&(DropReason::L2tpSequence, 2)));
}

#[test]
fn a_protected_session_takes_only_packets_of_its_association() {
    let mut rig = Rig::new();
    let selector = |port| Selector {
        source: prefix(HERE),
        destination: prefix(FAR),
        protocol: 17,
        source_port: PORT,
        destination_port: port,
    };
    rig.snapshot.ipsec.policies = Arc::new(Policies::new(vec![Policy {
        action: Action::Protect {
            slot: 1,
            required: true,
        },
        selector: selector(REMOTE_PORT),
    }]));
    open_protected(&mut rig, SESSION, 9, None, true);
    rig.publish();
    let mut neighbour = datagram(FAR, &PLAIN, &Udp4::default().packet());
    neighbour[14 + 20..14 + 22].copy_from_slice(&(REMOTE_PORT + 1).to_be_bytes());
    assert!(rig.pass(neighbour).is_empty());
    assert_eq!(rig.drops(), [(DropReason::L2tpAssociation, 1)]);
    // Without the policy of its port, the session takes nothing.
    rig.snapshot.ipsec.policies = Arc::default();
    rig.publish();
    let own = datagram(FAR, &PLAIN, &Udp4::default().packet());
    assert!(rig.pass(own).is_empty());
    assert!(rig.drops().contains(&(DropReason::L2tpUnprotected, 1)));
}

fn prefix(address: Ipv4Addr) -> Prefix {
    Prefix {
        ipv6: false,
        bits: address.to_bits().into(),
        len: 32,
    }
}

#[test]
fn control_messages_and_unknown_sessions_stay_packets_of_this_router() {
    let messages: [&[u8]; 3] = [
        &[0xc8, 2, 0, 12, 0, 7, 0, 0, 0, 1, 0, 1],
        &[
            0, 2, 0, 7, 0, 9, 0xff, 3, 0xc0, 0x21, 9, 1, 0, 8, 1, 2, 3, 4,
        ],
        &[0, 2, 0, 7, 0, 10, 0xff, 3, 0, 0x21],
    ];
    for message in messages {
        let mut rig = rig(None);
        rig.pass(datagram(FAR, message, &Udp4::default().packet()));
        let punts = rig.punts();
        let reasons: Vec<_> = punts.iter().map(|(reason, _)| *reason).collect();
        assert_eq!(
            reasons,
            [PuntReason::Local],
            "{message:x?} {:?}",
            rig.drops()
        );
    }
}

#[test]
fn a_vector_with_a_packet_of_each_of_many_sessions_loses_none() {
    let mut rig = rig(None);
    for number in 0..256u16 {
        open(
            &mut rig,
            InterfaceId(100 + u32::from(number)),
            100 + number,
            None,
        );
    }
    for round in 0..8 {
        for number in 0..256u16 {
            rig.arrive(of_session(100 + number, number));
        }
        rig.settle();
        assert_eq!(rig.sent(1).len(), 256, "{round}: {:?}", rig.drops());
    }
    let session = rig.traffic(InterfaceId(103));
    assert_eq!((session.rx.packets, session.fp_rx.packets), (8, 8));
}

/// Returns a datagram of the session with this number, with a packet from this port.
fn of_session(number: u16, source_port: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let header = [0, 2, 0, 7, high, low, 0xff, 3, 0, 0x21];
    let packet = Udp4 {
        source_port,
        ..Udp4::default()
    };
    datagram(FAR, &header, &packet.packet())
}

/// Packets of several sessions walk as one vector; each is received by its own interface, is counted
/// there once, and stays in the order of its session.
#[test]
fn packets_of_mixed_sessions_arrive_as_each_would_alone() {
    let mut rig = rig(None);
    for number in 0..5u16 {
        open(
            &mut rig,
            InterfaceId(100 + u32::from(number)),
            100 + number,
            None,
        );
    }
    // A session with another link address walks by itself.
    let other = InterfaceId(103);
    let line = rig.interfaces.get(other).expect("it is there");
    let mac = wire::Mac([2, 0, 0, 0, 0, 9]);
    rig.interfaces.set(other, &Interface { mac, ..line });
    let order: Vec<u16> = (0..100).map(|at| at * at % 7 % 5).collect();
    for (at, number) in order.iter().enumerate() {
        rig.arrive(of_session(100 + number, at as u16));
    }
    // Control hears packets of a session as from its interface.
    rig.interfaces.set_details(InterfaceId(104), Arc::default());
    rig.settle();
    let sent = rig.sent(1);
    let gone = order.iter().filter(|number| **number == 4).count();
    assert_eq!(sent.len(), 100 - gone, "{:?}", rig.drops());
    for number in 0..4u16 {
        let of = |at: &u16| order[usize::from(*at)] == number;
        let ports = sent
            .iter()
            .map(|frame| u16::from_be_bytes([frame[34], frame[35]]));
        let came: Vec<u16> = ports.filter(of).collect();
        let expected: Vec<u16> = (0..100).filter(of).collect();
        assert_eq!(came, expected, "session {number}");
        let traffic = rig.traffic(InterfaceId(100 + u32::from(number)));
        let count = expected.len() as u64;
        assert_eq!((traffic.rx.packets, traffic.fp_rx.packets), (count, count));
    }
    assert_eq!(rig.drops(), [(DropReason::InterfaceDown, gone as u64)]);
}

#[test]
fn a_vector_to_many_sessions_leaves_in_order_with_the_numbers_of_each() {
    let mut rig = Rig::new();
    for number in 0..20u16 {
        let id = InterfaceId(100 + u32::from(number));
        let hop = open(&mut rig, id, 9 + number, None);
        rig.route4(INSIDE + u32::from(number), 32, hop);
    }
    // Runs of one to three packets, and more sessions than are loaded at once.
    let order: Vec<u16> = (0..120).map(|at| at / (1 + at % 3) * 7 % 20).collect();
    for number in &order {
        let packet = Udp4 {
            destination: INSIDE + u32::from(*number),
            ..Udp4::default()
        };
        rig.arrive(packet.frame());
    }
    rig.settle();
    let sent = rig.sent(1);
    let sessions = sent.iter().map(|frame| {
        let session = u16::from_be_bytes([frame[14 + 32], frame[14 + 33]]);
        assert_eq!(
            frame[14 + 38 + 16 + 3],
            (INSIDE as u8) + (session - 0x5678) as u8
        );
        session - 0x5678
    });
    assert_eq!(sessions.collect::<Vec<_>>(), order, "{:?}", rig.drops());
    // The interface of one session is gone.
    rig.interfaces.set_details(InterfaceId(103), Arc::default());
    for number in [2u32, 3, 4] {
        let packet = Udp4 {
            destination: INSIDE + number,
            ..Udp4::default()
        };
        rig.arrive(packet.frame());
    }
    rig.settle();
    assert_eq!(rig.sent(1).len(), 2);
    assert_eq!(rig.drops(), [(DropReason::EgressDown, 1)]);
}
