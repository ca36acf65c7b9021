//! AF_PACKET over veth pairs: bytes, lengths, tags, unfinished frames, several queues.

mod common;

use std::collections::BTreeSet;
use std::net::UdpSocket;

use common::*;
use frame::{Offload, Port, Segmentation};
use netio::PacketPort;

fn open(device: &str) -> PacketPort {
    let mut ports = PacketPort::open(device, 1).expect("a packet socket");
    ports.pop().expect("one port")
}

#[test]
fn frames_of_every_length_cross_a_cable_unchanged_and_in_order() {
    in_namespace(|| {
        cable("left", "right", 9100);
        let (mut left, mut right, mut pool) = (open("left"), open("right"), pool());
        let lengths = (60..1515).chain([1972, 1973, 2006, 2007, 4000, 9014, 60, 9014, 61]);
        let sent: Vec<_> = lengths
            .enumerate()
            .map(|(n, len)| pattern(n, len))
            .collect();

        for part in sent.chunks(40) {
            send(&mut left, &mut pool, part);
            assert_eq!(receive_bytes(&mut right, &mut pool, part.len()), part);
        }

        assert_eq!(left.counters(), Default::default());
        assert_eq!(right.counters(), Default::default());
    });
}

#[test]
fn a_port_does_not_receive_its_own_frames() {
    in_namespace(|| {
        cable("left", "right", 9100);
        let (mut left, mut right, mut pool) = (open("left"), open("right"), pool());

        send(&mut left, &mut pool, &[pattern(1, 60), pattern(2, 1900)]);
        receive_bytes(&mut right, &mut pool, 2);
        send(&mut right, &mut pool, &[pattern(3, 60)]);

        assert_eq!(receive_bytes(&mut left, &mut pool, 1), [pattern(3, 60)]);
    });
}

#[test]
fn a_vlan_tag_is_preserved_and_shifts_the_checksum_offset() {
    in_namespace(|| {
        cable("left", "right", 9100);
        let (mut left, mut right, mut pool) = (open("left"), open("right"), pool());
        for len in [64, 1518, 2500] {
            let mut tagged = pattern(len, len);
            tagged[12..16].copy_from_slice(&[0x81, 0x00, 0xa0, 0x07]);
            tagged[16..18].copy_from_slice(&[0x88, 0xb5]);
            let mut frame = pool.alloc_from(&tagged).expect("a slot");
            frame.offload = Offload {
                needs_checksum: true,
                checksum_start: 38,
                checksum_offset: 6,
                ..Offload::FINISHED
            };

            let done = left.transmit(&mut pool, &mut vec![frame]);
            let mut arrived = receive(&mut right, &mut pool, 1);

            let arrived = arrived.pop().expect("one frame");
            assert_eq!(done.sent, 1);
            assert_eq!(arrived.bytes(), tagged);
            assert!(arrived.offload.needs_checksum);
            assert_eq!(arrived.offload.checksum_start, 38);
            pool.free(arrived);
        }
    });
}

#[test]
fn a_kernel_sender_hands_over_an_unfinished_checksum() {
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev left");
        let (mut right, mut pool) = (open("right"), pool());
        let socket = UdpSocket::bind("192.0.2.1:0").expect("an address of ours");

        socket
            .send_to(b"unfinished", "192.0.2.2:9")
            .expect("a route");
        let arrived = receive(&mut right, &mut pool, 1).pop().expect("one frame");

        let expected = Offload {
            needs_checksum: true,
            checksum_start: 34,
            checksum_offset: 6,
            ..Offload::FINISHED
        };
        assert_eq!(arrived.offload, expected);
        assert!(arrived.bytes().ends_with(b"unfinished"));
        pool.free(arrived);
    });
}

#[test]
fn a_merged_segment_of_64_kb_crosses_whole() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let (mut left, mut right, mut pool) = (open("left"), open("right"), pool());
        let bytes = tcp4_segment(65_000);
        let mut frame = pool.alloc_from(&bytes).expect("a large slot");
        frame.offload = Offload {
            needs_checksum: true,
            segmentation: Segmentation::Tcp4,
            segment_bytes: 1448,
            checksum_start: 34,
            checksum_offset: 16,
            ecn: false,
        };
        let expected = frame.offload;
        assert!(left.offloads().take(&expected));

        let small = pool.alloc_from(&pattern(0, 60)).expect("a slot");
        let done = left.transmit(&mut pool, &mut vec![small, frame]);
        let mut arrived = receive(&mut right, &mut pool, 2);

        let arrived_large = arrived.pop().expect("two frames");
        assert_eq!(done.sent, 2);
        assert_eq!(arrived_large.offload, expected);
        assert!(arrived_large.bytes() == bytes, "the bytes differ");
        assert_eq!(arrived[0].bytes(), pattern(0, 60));
        arrived
            .into_iter()
            .chain([arrived_large])
            .for_each(|f| pool.free(f));
    });
}

#[test]
fn two_queues_share_the_flows_and_keep_each_in_order() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let (mut left, mut pool) = (open("left"), pool());
        let mut queues = PacketPort::open("right", 2).expect("two packet sockets");
        let flows = 32;
        for round in 0..4_u8 {
            let frames: Vec<_> = (0..flows).map(|flow| udp4_frame(flow, round)).collect();
            send(&mut left, &mut pool, &frames);
        }

        let mut arrived = [Vec::new(), Vec::new()];
        eventually("the arrival of all frames", || {
            for (queue, frames) in queues.iter_mut().zip(&mut arrived) {
                let mut vector = frame::Vector::new();
                queue.receive(&mut pool, &mut vector);
                for frame in vector.drain() {
                    frames.push((frame.bytes()[35], frame.bytes()[42]));
                    pool.free(frame);
                }
            }
            arrived.iter().map(Vec::len).sum::<usize>() == 4 * flows as usize
        });

        let [one, other] = arrived.each_ref().map(|frames| {
            frames
                .iter()
                .map(|(flow, _)| *flow)
                .collect::<BTreeSet<u8>>()
        });
        assert!(!one.is_empty() && !other.is_empty(), "both have flows");
        assert!(one.is_disjoint(&other), "a flow stays on its queue");
        for flow in one.union(&other) {
            let rounds = arrived
                .iter()
                .flatten()
                .filter(|(f, _)| f == flow)
                .map(|(_, r)| *r);
            assert_eq!(rounds.collect::<Vec<_>>(), [0, 1, 2, 3]);
        }
    });
}

#[test]
fn a_link_that_is_down_drops_frames_and_works_again_when_up() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let (mut left, mut right, mut pool) = (open("left"), open("right"), pool());
        ip("link set left down");

        let mut frames = vec![pool.alloc_from(&pattern(1, 60)).expect("a slot")];
        left.transmit(&mut pool, &mut frames);
        assert_eq!(left.counters().transmit_errors, 1);
        ip("link set left up");
        eventually("the carrier", || running("left"));
        send(&mut left, &mut pool, &[pattern(2, 60)]);

        assert_eq!(receive_bytes(&mut right, &mut pool, 1), [pattern(2, 60)]);
    });
}

#[test]
fn closing_the_port_returns_all_slots() {
    in_namespace(|| {
        cable("left", "right", 9100);
        let (mut left, mut right, mut pool) = (open("left"), open("right"), pool());
        let free = frame::Class::ALL.map(|class| pool.available(class));

        send(&mut left, &mut pool, &[pattern(1, 60), pattern(2, 9000)]);
        receive_bytes(&mut right, &mut pool, 2);
        left.close(&mut pool);
        right.close(&mut pool);

        assert_eq!(frame::Class::ALL.map(|class| pool.available(class)), free);
    });
}

fn running(device: &str) -> bool {
    let mut links = netio::link::Links::open().expect("netlink");
    links.find(device).expect("the device").running
}

/// An Ethernet frame with a UDP datagram from port 1000 + `flow`, with payload `round`.
fn udp4_frame(flow: u8, round: u8) -> Vec<u8> {
    let mut bytes = pattern(0, 60);
    bytes[12..14].copy_from_slice(&[8, 0]);
    let ip = [
        0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
    ];
    bytes[14..34].copy_from_slice(&ip);
    bytes[34..42].copy_from_slice(&[16, flow, 0, 9, 0, 26, 0, 0]);
    bytes[42] = round;
    bytes
}

/// An Ethernet frame of `len` bytes with a TCP segment over IPv4 and an unfinished checksum.
fn tcp4_segment(len: usize) -> Vec<u8> {
    let mut bytes = pattern(9, len);
    bytes[12..14].copy_from_slice(&[8, 0]);
    let [high, low] = ((len - 14) as u16).to_be_bytes();
    let ip = [
        0x45, 0, high, low, 0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
    ];
    bytes[14..34].copy_from_slice(&ip);
    bytes[34 + 12] = 5 << 4;
    bytes[34 + 13] = 0x18;
    bytes
}
