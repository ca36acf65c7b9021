//! PPTP calls of one router: their packets leave in GRE, and GRE packets become packets.

use core::net::Ipv4Addr;

use frame::InterfaceId;
use pptp::gre::{MAX_HEADER, Packet, write};

use super::{Numbers, Pptp};
use crate::DropReason;
use crate::encap::plain::Plain;
use crate::encap::tests::add;
use crate::testing::{MAC, Rig, Udp4, ethernet, seal};

const CALL: InterfaceId = InterfaceId(10);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Other end, behind the gateway.
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
/// Host behind the call.
const INSIDE: u32 = 0x1400_0007;
/// Call numbers of this and of the other end.
const OURS: u16 = 7;
const THEIRS: u16 = 0x1234;

fn rig() -> Rig {
    let mut rig = Rig::new();
    let call = Pptp {
        local: HERE,
        remote: FAR,
        call: OURS,
        remote_call: THEIRS,
        numbers: Numbers::default(),
    };
    let plain = Plain {
        id: CALL,
        carrier: call.into(),
    };
    let hop = add(&mut rig, CALL, plain);
    rig.route4(INSIDE & 0xff00_0000, 8, hop);
    rig
}

fn inside() -> Udp4 {
    Udp4 {
        destination: INSIDE,
        ..Udp4::default()
    }
}

/// Returns a GRE packet with this payload, from `source` to this router.
fn gre(source: Ipv4Addr, call: u16, sequence: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let outer = Udp4 {
        source: source.to_bits(),
        destination: HERE.to_bits(),
        ..Udp4::default()
    };
    let mut all = outer.packet()[..20].to_vec();
    all[9] = 47;
    let mut header = [0; MAX_HEADER];
    let acknowledged = sequence.is_none().then_some(0);
    let length = write(
        &mut header,
        call,
        payload.len() as u16,
        sequence,
        acknowledged,
    );
    all.extend(&header[..length]);
    all.extend(payload);
    let total = all.len() as u16;
    all[2..4].copy_from_slice(&total.to_be_bytes());
    seal(&mut all);
    ethernet(MAC, 0x0800, &all)
}

/// Returns a PPP packet with a packet to forward, behind these bytes.
fn ppp(front: &[u8]) -> Vec<u8> {
    [front, &Udp4::default().packet()].concat()
}

#[test]
fn packets_leave_in_gre_with_numbers_and_acknowledgements() {
    let mut rig = rig();
    for number in 0..3 {
        let sent = rig.pass(inside().frame());
        let [frame] = &sent[..] else {
            panic!("{} frames, {:?}", sent.len(), rig.drops());
        };
        let packet = &frame[14..];
        assert_eq!((packet[9], &packet[16..20]), (47, &FAR.octets()[..]));
        let mut header = packet[..20].to_vec();
        seal(&mut header);
        assert_eq!(header, packet[..20], "the checksum is right");
        let gre = Packet::parse(&packet[20..]).expect("a GRE packet");
        assert_eq!(
            (gre.call, gre.sequence, gre.acknowledged),
            (THEIRS, Some(number), None)
        );
        let payload = &packet[20 + gre.start..20 + gre.end];
        assert_eq!(payload[..4], [0xff, 3, 0, 0x21]);
        assert_eq!(payload[4 + 16..4 + 20], INSIDE.to_be_bytes());
    }
    rig.pass(gre(FAR, OURS, Some(9), &ppp(&[0xff, 3, 0, 0x21])));
    let acknowledged = |rig: &mut Rig| {
        let sent = rig.pass(inside().frame());
        Packet::parse(&sent[0][34..])
            .expect("a GRE packet")
            .acknowledged
    };
    assert_eq!(acknowledged(&mut rig), Some(9));
    assert_eq!(acknowledged(&mut rig), None);
    assert_eq!(rig.traffic(CALL).tx.packets, 5);
}

#[test]
fn packets_of_all_forms_are_forwarded_once() {
    let mut rig = rig();
    let fronts: [&[u8]; 4] = [&[0xff, 3, 0, 0x21], &[0, 0x21], &[0x21], &[0xff, 3, 0x21]];
    for (number, front) in (0..).zip(fronts) {
        let packet = gre(FAR, OURS, Some(number), &ppp(front));
        assert_eq!(
            rig.pass(packet.clone()).len(),
            1,
            "{front:02x?} {:?}",
            rig.drops()
        );
        assert_eq!(
            rig.pass(packet),
            Vec::<Vec<u8>>::new(),
            "{front:02x?} again"
        );
    }
    assert!(
        rig.drops().contains(&(DropReason::PptpSequence, 4)),
        "{:?}",
        rig.drops()
    );
    assert_eq!(rig.traffic(CALL).rx.packets, 4);
    let others = gre(Ipv4Addr::new(11, 0, 0, 8), OURS, Some(8), &ppp(&[0, 0x21]));
    rig.pass(others);
    assert!(
        rig.drops().contains(&(DropReason::PptpPeer, 1)),
        "{:?}",
        rig.drops()
    );
    // An acknowledgement alone is consumed.
    let drops = rig.drops();
    assert_eq!(rig.pass(gre(FAR, OURS, None, &[])), Vec::<Vec<u8>>::new());
    assert_eq!(rig.drops(), drops);
}

#[test]
fn many_packets_in_one_direction_are_acknowledged_by_packets_of_their_own() {
    let mut rig = rig();
    let mut acknowledged = Vec::new();
    for number in 0..70 {
        for frame in rig.pass(gre(FAR, OURS, Some(number), &ppp(&[0, 0x21]))) {
            if frame[14 + 9] == 47 {
                let packet = Packet::parse(&frame[34..]).expect("a GRE packet");
                assert_eq!((packet.call, packet.sequence), (THEIRS, None));
                acknowledged.extend(packet.acknowledged);
            }
        }
    }
    assert_eq!(acknowledged, [31, 63], "{:?}", rig.drops());
}
