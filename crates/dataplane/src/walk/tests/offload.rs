//! Tests of packets that leave in pieces: fragments, and segments for ports without segmentation.

use frame::{Offload, Segmentation};

use super::{ip4, rig};
use crate::drop::DropReason;
use crate::punt::PuntReason;
use crate::testing::{ETHER2, GATEWAY, Udp4, seal, sum};

#[test]
fn a_merged_segment_is_measured_by_its_segments() {
    let mut rig = rig();
    rig.snapshot.ports[1].offloads.tcp4 = true;
    rig.snapshot.ports[1].offloads.checksum = true;
    rig.publish();
    let mut tcp = Udp4 {
        protocol: 6,
        payload: 8000,
        fragment: 0x4000,
        ..Udp4::default()
    }
    .packet();
    tcp[32] = 5 << 4;
    seal(&mut tcp);
    let merged = |segment_bytes| Offload {
        needs_checksum: true,
        segmentation: Segmentation::Tcp4,
        segment_bytes,
        checksum_start: 34,
        checksum_offset: 16,
        ecn: false,
    };

    rig.arrive_unfinished(0, ip4(&tcp), merged(1460));
    rig.settle();
    let sent = core::mem::take(&mut rig.ports[1].line().sent);
    assert_eq!(sent[0].1, merged(1460));
    assert_eq!(sum(&sent[0].0[14..34]), 0xffff);

    rig.arrive_unfinished(0, ip4(&tcp), merged(1461));
    rig.settle();
    assert_eq!(rig.punts()[0].0, PuntReason::TooBig(1500));
}

#[test]
fn a_packet_that_may_be_fragmented_leaves_in_pieces_that_fit() {
    let mut rig = rig();
    let udp = Udp4 {
        payload: 3000,
        ..Udp4::default()
    };

    let sent = rig.pass(udp.frame());

    let sizes: Vec<_> = sent.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1514, 1514, 14 + 20 + 3008 - 2 * 1480]);
    let mut payload: Vec<u8> = Vec::new();
    for piece in &sent {
        assert_eq!(sum(&piece[14..34]), 0xffff);
        assert_eq!((piece[22], &piece[..12]), (63, &GATEWAY[..]));
        payload.extend(&piece[34..]);
    }
    assert_eq!(payload, udp.packet()[20..]);
    let traffic = rig.traffic(ETHER2);
    assert_eq!((traffic.tx.packets, traffic.tx.bytes), (3, 2 * 1514 + 82));
}

/// Returns a merged TCP segment with a pending checksum in an Ethernet frame, and its offload
/// state.
fn merged(payload: usize) -> (Vec<u8>, Offload) {
    let mut tcp = Udp4 {
        protocol: 6,
        payload: payload + 12,
        fragment: 0x4000,
        ..Udp4::default()
    }
    .packet();
    tcp[32] = 5 << 4;
    let offload = Offload {
        needs_checksum: true,
        segmentation: Segmentation::Tcp4,
        segment_bytes: 1460,
        checksum_start: 34,
        checksum_offset: 16,
        ecn: false,
    };
    (ip4(&tcp), offload)
}

#[test]
fn a_merged_segment_is_split_for_a_port_that_cannot_take_it() {
    let mut rig = rig();
    let (frame, offload) = merged(4000);

    rig.arrive_unfinished(0, frame, offload);
    rig.settle();

    let sent = rig.sent(1);
    let sizes: Vec<_> = sent.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1514, 1514, 54 + 4000 - 2 * 1460]);
    for piece in &sent {
        let len = (piece.len() - 34) as u16;
        let pseudo = [&piece[26..34], &[0, 6], &len.to_be_bytes()].concat();
        assert_eq!(sum(&[&pseudo[..], &piece[34..]].concat()), 0xffff);
    }
}

#[test]
fn an_unfinished_frame_that_makes_no_sense_is_named() {
    let mut rig = rig();
    let (frame, offload) = merged(100);
    let outside = Offload {
        segmentation: Segmentation::None,
        checksum_start: 5000,
        ..offload
    };

    rig.arrive_unfinished(0, frame, outside);
    rig.settle();

    assert_eq!(rig.drops(), [(DropReason::OffloadMalformed, 1)]);
}

#[test]
fn fragments_without_a_slot_are_not_sent_at_all() {
    let mut rig = rig();
    rig.settle();
    let mut held = Vec::new();
    let pool = rig.workers[0].pool();
    while let Some(frame) = pool.alloc(1500) {
        held.push(frame);
    }
    let udp = Udp4 {
        payload: 3000,
        ..Udp4::default()
    };

    assert!(rig.pass(udp.frame()).is_empty());
    assert_eq!(rig.drops(), [(DropReason::NoBuffer, 1)]);
    for frame in held {
        rig.pool.free(frame);
    }
}
