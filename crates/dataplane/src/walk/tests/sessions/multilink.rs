//! Tests of sessions with multilink framing.

use ppp::{Fragment, Reassembly, fragments};

use super::*;
use crate::encap::multilink::{Multilink, Sequence};

const MULTILINK: u16 = 0x003d;
const MTU: u16 = 1_492;
const MRRU: u16 = 1_600;

/// Returns a router whose first session has multilink framing, and routes to the session.
fn framed() -> Rig {
    let mut rig = with_sessions();
    let framing = Multilink {
        id: FIRST,
        carrier: OutId::port(0).into(),
        mtu: MTU,
        mrru: MRRU,
        sequence: Sequence::default(),
    };
    let details = Details {
        name: "<pppoe-user>".into(),
        tunnel: Some(framing.into()),
        session: Some(session(PEER, 7)),
        ..Details::default()
    };
    rig.interfaces.set_details(FIRST, Arc::new(details));
    leads_to_session(&mut rig, None, MRRU.into());
    let mut hop = rig.tables().fib.adjacencies.read(rig.gateway);
    hop.out = OutId::tunnel(FIRST);
    let gateway = rig.gateway;
    rig.writer.set_next_hop(gateway, &hop);
    rig
}

/// Passes a frame to `ether1`. Returns the frames that leave by the session.
fn pass(rig: &mut Rig, frame: Vec<u8>) -> Vec<Vec<u8>> {
    rig.arrive(frame);
    rig.settle();
    rig.sent(0)
}

fn udp(bytes: usize) -> Udp4 {
    Udp4 {
        payload: bytes - 28,
        ..Udp4::default()
    }
}

/// Returns the information of session data, if it has this protocol.
fn information(frame: &[u8], protocol: u16) -> Option<&[u8]> {
    let (header, information) = frame[14..].split_at(8);
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    assert_eq!(length, information.len() + 2, "the length of {frame:02x?}");
    (header[6..] == protocol.to_be_bytes()).then_some(information)
}

#[test]
fn packets_beyond_the_mtu_leave_in_fragments_and_others_whole() {
    let mut rig = framed();
    let sizes = [
        100,
        usize::from(MTU),
        usize::from(MTU) + 1,
        usize::from(MRRU),
    ];
    let mut reassembly = Reassembly::new(MRRU);
    for (at, bytes) in sizes.into_iter().enumerate() {
        let sent = pass(&mut rig, udp(bytes).frame());
        let expected = forwarded4(&udp(bytes).packet())[14..].to_vec();
        if bytes <= usize::from(MTU) {
            assert_eq!(sent.len(), 1);
            assert_eq!(information(&sent[0], IPV4), Some(&expected[..]));
            continue;
        }
        assert_eq!(sent.len(), 2, "{bytes}");
        let mut whole = None;
        for frame in &sent {
            assert!(frame.len() <= 14 + 8 + usize::from(MTU));
            let fragment = Fragment::parse(information(frame, MULTILINK).expect("a fragment"));
            let pushed = reassembly.push(fragment.expect("a whole header"));
            assert_eq!(pushed.fault, None, "{at}: numbers follow each other");
            whole = pushed.packet.map(<[u8]>::to_vec);
        }
        assert_eq!(whole, Some([&IPV4.to_be_bytes()[..], &expected].concat()));
    }
    let sent = rig.traffic(FIRST).tx.packets;
    assert_eq!(sent, 4, "packets of the session, not fragments");
    let lost = pass(&mut rig, udp(usize::from(MRRU) + 1).frame());
    assert_eq!(lost.len(), 3, "fragments of IP, of which the first is long");
}

/// Returns the frames that carry a packet in fragments for this MTU.
fn in_fragments(protocol: u16, packet: &[u8], mtu: u16, sequence: &mut u32) -> Vec<Vec<u8>> {
    let packet = [&protocol.to_be_bytes()[..], packet].concat();
    fragments_of(&packet, mtu, sequence)
}

/// Returns the frames that carry a packet, from its protocol field on, in fragments for this MTU.
fn fragments_of(packet: &[u8], mtu: u16, sequence: &mut u32) -> Vec<Vec<u8>> {
    let frames = fragments(packet, mtu, sequence).map(|fragment| {
        let information = [&fragment.header()[2..], fragment.data].concat();
        let fields = Fields {
            protocol: MULTILINK,
            packet: information,
            padding: 3,
            ..Fields::default()
        };
        fields.frame()
    });
    frames.collect()
}

#[test]
fn fragments_become_packets_and_what_is_lost_is_counted() {
    let mut rig = framed();
    // Routed packets leave by port 1.
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
    let gateway = rig.gateway;
    rig.writer.set_next_hop(gateway, &adjacency);
    let mut sequence = 0xff_fffe;
    for bytes in [60, 700, 1_500, usize::from(MRRU)] {
        let packet = udp(bytes.min(1_500)).packet();
        let mut sent = Vec::new();
        for frame in in_fragments(IPV4, &packet, 600, &mut sequence) {
            assert!(sent.is_empty(), "a packet is complete once");
            sent = rig.pass(frame);
        }
        assert_eq!(sent, [forwarded4(&packet)], "{bytes}");
    }
    assert_eq!(rig.drops(), []);

    let frames = in_fragments(IPV4, &udp(1_500).packet(), 600, &mut sequence);
    for (at, frame) in frames.iter().enumerate().filter(|(at, _)| *at != 1) {
        assert!(rig.pass(frame.clone()).is_empty(), "{at}");
    }
    assert_eq!(rig.drops(), [(DropReason::PppFragment, 1)]);
    let long = vec![0; usize::from(MRRU) + 1];
    for frame in in_fragments(IPV4, &long, 1_492, &mut sequence) {
        assert!(rig.pass(frame).is_empty());
    }
    assert_eq!(rig.drops(), [(DropReason::PppFragment, 2)]);
    let compressed = in_fragments(0x00fd, &[1; 700], 600, &mut sequence);
    for frame in compressed {
        assert!(rig.pass(frame).is_empty());
    }
    assert!(rig.drops().contains(&(DropReason::PppProtocol, 1)));
}

#[test]
fn the_protocol_field_within_fragments_may_be_compressed() {
    let mut rig = framed();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
    let gateway = rig.gateway;
    rig.writer.set_next_hop(gateway, &adjacency);
    let packet = udp(100).packet();
    let mut sequence = 0;
    for front in [&[0x21][..], &[0xff, 0x03, 0x21], &[0xff, 0x03, 0, 0x21]] {
        for mtu in [60, 1_492] {
            let mut sent = Vec::new();
            for frame in fragments_of(&[front, &packet].concat(), mtu, &mut sequence) {
                sent = rig.pass(frame);
            }
            assert_eq!(sent, [forwarded4(&packet)], "{front:02x?} for {mtu}");
        }
    }
    assert_eq!(rig.drops(), []);
}

#[test]
fn control_packets_in_multilink_framing_reach_control() {
    let mut rig = framed();
    let data = Match::Frame(FrameContent::EtherType(0x8864));
    let mut services = (*rig.snapshot.services).clone();
    let id = ServiceId::new(5).expect("there are more");
    services
        .add(id, &Service::new("pppoe", [data], RATE))
        .expect("nobody has its matches");
    rig.snapshot.services = Arc::new(services);
    rig.publish();
    let frames = in_fragments(0x8057, &[1, 1, 0, 4], 600, &mut 0);
    rig.pass(frames[0].clone());
    assert_eq!(rig.punts(), [(heard(5, false), frames[0].clone())]);
}
