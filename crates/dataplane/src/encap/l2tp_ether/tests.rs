//! Static sessions of L2TP version 3: frames leave in packets, and packets become frames.

use super::*;
use crate::encap::tests::add;
use crate::testing::{MAC, Rig, Udp4, ethernet, seal};

const SESSION_ID: InterfaceId = InterfaceId(10);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
const INSIDE: u32 = 0x1400_0007;

fn session(in_udp: bool) -> L2tpEther {
    L2tpEther {
        id: SESSION_ID,
        local: HERE,
        remote: FAR,
        remote_port: PORT,
        in_udp,
        local_session: 0x0102_0304,
        remote_session: 0x0506_0708,
        local_cookie: Cookie::new(&[0xaa; 8]).expect("8 bytes"),
        remote_cookie: Cookie::new(&[0xbb; 4]).expect("4 bytes"),
        local_sublayer: in_udp,
        remote_sublayer: in_udp,
        protected: false,
        fast: true,
    }
}

fn rig(in_udp: bool) -> Rig {
    let mut rig = Rig::new();
    let hop = add(&mut rig, SESSION_ID, session(in_udp));
    rig.route4(INSIDE & 0xff00_0000, 8, hop);
    rig
}

/// A packet of the other end with these bytes behind the IPv4 header.
fn packet(source: Ipv4Addr, protocol: u8, behind: &[u8]) -> Vec<u8> {
    let outer = Udp4 {
        source: source.to_bits(),
        destination: HERE.to_bits(),
        ..Udp4::default()
    };
    let mut all = outer.packet()[..20].to_vec();
    all.extend(behind);
    let total = all.len() as u16;
    all[2..4].copy_from_slice(&total.to_be_bytes());
    all[9] = protocol;
    seal(&mut all);
    ethernet(MAC, 0x0800, &all)
}

/// A frame to the session's interface with a packet to be forwarded.
fn inner(rig: &Rig) -> Vec<u8> {
    let mac = rig.interfaces.get(SESSION_ID).expect("a session").mac;
    ethernet(mac.0, 0x0800, &Udp4::default().packet())
}

#[test]
fn frames_leave_with_session_cookie_and_sublayer_of_the_other_end() {
    for (in_udp, expected) in [
        (false, vec![5, 6, 7, 8, 0xbb, 0xbb, 0xbb, 0xbb]),
        (
            true,
            vec![0, 3, 0, 0, 5, 6, 7, 8, 0xbb, 0xbb, 0xbb, 0xbb, 0, 0, 0, 0],
        ),
    ] {
        let mut rig = rig(in_udp);
        let to_inside = Udp4 {
            destination: INSIDE,
            ..Udp4::default()
        };
        let sent = rig.pass(to_inside.frame());
        let [frame] = &sent[..] else {
            panic!("{} frames, {:?}", sent.len(), rig.drops());
        };
        let packet = &frame[14..];
        assert_eq!(packet[16..20], FAR.octets());
        assert_eq!(packet[9], if in_udp { UDP } else { L2TP });
        let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        assert_eq!(total, packet.len());
        let mut at = 20;
        if in_udp {
            let length = ((packet.len() - 20) as u16).to_be_bytes();
            assert_eq!(packet[20..24], [6, 0xa5, 6, 0xa5]);
            assert_eq!(packet[24..28], [length[0], length[1], 0, 0]);
            at += 8;
        }
        assert_eq!(packet[at..at + expected.len()], expected);
        let inner = &packet[at + expected.len()..];
        assert_eq!(inner[14 + 16..14 + 20], INSIDE.to_be_bytes());
    }
}

#[test]
fn only_packets_with_session_cookie_and_address_become_frames() {
    let mut rig = rig(false);
    let inner = inner(&rig);
    let good = [&[1, 2, 3, 4][..], &[0xaa; 8], &inner].concat();
    assert_eq!(
        rig.pass(packet(FAR, L2TP, &good)).len(),
        1,
        "{:?}",
        rig.drops()
    );
    let other_cookie = [&[1, 2, 3, 4][..], &[0xab; 8], &inner].concat();
    assert!(rig.pass(packet(FAR, L2TP, &other_cookie)).is_empty());
    assert!(rig.drops().contains(&(DropReason::L2tpCookie, 1)));
    assert!(
        rig.pass(packet(Ipv4Addr::new(11, 0, 0, 10), L2TP, &good))
            .is_empty()
    );
    assert!(rig.drops().contains(&(DropReason::L2tpPeer, 1)));
    let unknown = [&[1, 2, 3, 5][..], &[0xaa; 8], &inner].concat();
    assert!(rig.pass(packet(FAR, L2TP, &unknown)).is_empty());
    assert!(rig.drops().contains(&(DropReason::L2tpUnknown, 1)));
    for len in 0..good.len() - inner.len() + ETHERNET {
        assert!(
            rig.pass(packet(FAR, L2TP, &good[..len])).is_empty(),
            "{len}"
        );
    }
}

#[test]
fn datagrams_of_version_3_become_frames_and_control_messages_do_not() {
    let mut rig = rig(true);
    let inner = inner(&rig);
    let message = [&[0, 3, 0, 0, 1, 2, 3, 4][..], &[0xaa; 8], &[0; 4], &inner].concat();
    let datagram = |message: &[u8]| {
        let mut all = vec![0x06, 0xa5, 0x06, 0xa5];
        all.extend(((8 + message.len()) as u16).to_be_bytes());
        all.extend([0, 0]);
        all.extend(message);
        packet(FAR, UDP, &all)
    };
    assert_eq!(rig.pass(datagram(&message)).len(), 1, "{:?}", rig.drops());
    let control = [0xc8, 3, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(rig.pass(datagram(&control)).is_empty());
    assert_eq!(rig.drops(), [], "control has it");
}
