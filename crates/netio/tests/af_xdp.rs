//! AF_XDP over veth pairs, in both modes.

mod common;

use std::net::UdpSocket;

use common::*;
use frame::{Class, Offload, Pool, Port};
use netio::link::offload_off;
use netio::{PacketPort, Umem, XdpMode, XdpPort, XdpRefusal};

const MODES: [XdpMode; 2] = [XdpMode::Generic, XdpMode::Native];
/// Small, so that every test wraps the rings.
const RING: u32 = 256;

fn open(device: &str, mode: XdpMode, pool: &Pool) -> XdpPort {
    open_with(device, mode, pool, RING)
}

fn open_with(device: &str, mode: XdpMode, pool: &Pool, ring: u32) -> XdpPort {
    let umems = [Umem::of(pool)];
    let mut ports = XdpPort::open(device, mode, &umems, ring, None).expect("an AF_XDP socket");
    assert_eq!(ports.len(), 1);
    let port = ports.pop().expect("one port");
    assert_eq!(port.mode(), mode);
    assert!(!port.is_zero_copy(), "a virtual cable has no zero copy");
    port
}

fn free_slots(pool: &mut Pool) -> [usize; 3] {
    Class::ALL.map(|class| pool.available(class))
}

#[test]
fn frames_of_every_length_cross_a_cable_unchanged_and_in_order() {
    in_namespace_as_root(|| {
        for (number, mode) in MODES.into_iter().enumerate() {
            let (l, r) = (format!("left{number}"), format!("right{number}"));
            cable(&l, &r, 1500);
            let mut pool = pool();
            let (mut left, mut right) = (open(&l, mode, &pool), open(&r, mode, &pool));
            prime(&mut right, &mut pool);
            let sent: Vec<_> = (60..1515).map(|len| pattern(len, len)).collect();

            for part in sent.chunks(64) {
                send(&mut left, &mut pool, part);
                assert_eq!(
                    receive_bytes(&mut right, &mut pool, part.len()),
                    part,
                    "{mode:?}"
                );
            }

            assert_eq!(left.counters(), Default::default());
            assert_eq!(right.counters(), Default::default());
        }
    });
}

#[test]
fn jumbo_frames_are_split_into_chunks_and_joined() {
    in_namespace_as_root(|| {
        for (number, mode) in MODES.into_iter().enumerate() {
            let (l, r) = (format!("left{number}"), format!("right{number}"));
            cable(&l, &r, 9000);
            let mut pool = pool();
            let (mut left, mut right) = (open(&l, mode, &pool), open(&r, mode, &pool));
            prime(&mut right, &mut pool);
            let lengths = [60, 1791, 1792, 1793, 3584, 3585, 9014, 61];
            let sent: Vec<_> = lengths.map(|len| pattern(len, len)).to_vec();

            for _ in 0..40 {
                send(&mut left, &mut pool, &sent);
                assert_eq!(
                    receive_bytes(&mut right, &mut pool, sent.len()),
                    sent,
                    "{mode:?}"
                );
            }
        }
    });
}

#[test]
fn an_mtu_above_the_joined_maximum_is_refused() {
    in_namespace_as_root(|| {
        cable("left", "right", 17_000);
        let pool = pool();

        let refusal = XdpPort::open("left", XdpMode::Generic, &[Umem::of(&pool)], RING, None);

        let refusal = refusal.expect_err("17,000 bytes");
        assert!(matches!(refusal, XdpRefusal::Jumbo { mtu: 17_000, .. }));
        assert_eq!(
            refusal.to_string(),
            "MTU 17000 exceeds the 1770 bytes of one chunk; frames in several chunks are not supported \
             here"
        );
    });
}

#[test]
fn a_vlan_tag_is_preserved() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let mut pool = pool();
        let mut left = open("left", XdpMode::Generic, &pool);
        let mut right = open("right", XdpMode::Generic, &pool);
        prime(&mut right, &mut pool);
        let mut tagged = pattern(1, 1518);
        tagged[12..16].copy_from_slice(&[0x81, 0x00, 0xa0, 0x07]);

        send(&mut left, &mut pool, &[tagged.clone()]);

        assert_eq!(receive_bytes(&mut right, &mut pool, 1), [tagged]);
    });
}

#[test]
fn a_kernel_sender_whose_offloads_are_off_hands_over_a_finished_checksum() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        offload_off("left").expect("permitted");
        ip("addr add 192.0.2.1/24 dev left");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev left");
        let mut pool = pool();
        let mut right = open("right", XdpMode::Generic, &pool);
        prime(&mut right, &mut pool);
        let socket = UdpSocket::bind("192.0.2.1:0").expect("an address of ours");

        socket.send_to(b"finished", "192.0.2.2:9").expect("a route");
        let arrived = receive(&mut right, &mut pool, 1).pop().expect("one frame");

        let bytes = arrived.bytes();
        assert_eq!(arrived.offload, Offload::FINISHED);
        assert_eq!(sum(&bytes[14..34], 0), 0xffff, "the IPv4 header's");
        let udp_len = 8 + b"finished".len() as u32;
        // The addresses of the pseudo header precede the UDP header.
        assert_eq!(sum(&bytes[26..], 17 + udp_len), 0xffff, "the datagram's");
        pool.free(arrived);
    });
}

#[test]
fn two_queues_are_two_ports() {
    in_namespace_as_root(|| {
        cable_with("left", "right", 1500, 2);
        let mut pool = pool();
        let umems = [Umem::of(&pool)];
        let open = |device| XdpPort::open(device, XdpMode::Native, &umems, RING, None);
        let mut left = open("left").expect("AF_XDP sockets");
        let mut right = open("right").expect("AF_XDP sockets");
        assert_eq!((left.len(), right.len()), (2, 2));
        for queue in &mut right {
            prime(queue, &mut pool);
        }

        for (number, (from, to)) in left.iter_mut().zip(&mut right).enumerate() {
            send(from, &mut pool, &[pattern(number, 100)]);
            assert_eq!(receive_bytes(to, &mut pool, 1), [pattern(number, 100)]);
        }
    });
}

#[test]
fn a_frame_of_another_pool_or_class_is_copied() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let sizes = frame::Sizes {
            small: 2048,
            medium: 8,
            large: 2,
        };
        let mut pools = Pool::group(2, sizes).expect("memory");
        let (mut other, mut pool) = (pools.remove(0), pools.remove(0));
        let mut left = open("left", XdpMode::Generic, &pool);
        let mut right = open("right", XdpMode::Generic, &pool);
        prime(&mut right, &mut pool);
        let mut foreign = other.alloc_from(&pattern(1, 100)).expect("a slot");
        foreign.ingress = frame::InterfaceId(7);
        let mut medium = pool.alloc_class(Class::Medium, 200).expect("a slot");
        medium.bytes_mut().copy_from_slice(&pattern(2, 200));

        let done = left.transmit(&mut pool, &mut vec![foreign, medium]);

        assert_eq!(done.sent, 2);
        let arrived = receive_bytes(&mut right, &mut pool, 2);
        assert_eq!(arrived, [pattern(1, 100), pattern(2, 200)]);
    });
}

#[test]
fn closing_returns_all_slots_and_detaches_the_program() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let mut pool = pool();
        let free = free_slots(&mut pool);
        for round in 0..3 {
            // Another port used the queue just before.
            let mut left = open("left", XdpMode::Generic, &pool);
            let mut right = open("right", XdpMode::Generic, &pool);
            prime(&mut right, &mut pool);
            let (_, shown) = run("ip", "-d link show left");
            assert!(shown.contains("xdpgeneric"), "{shown}");
            send(&mut left, &mut pool, &vec![pattern(round, 60); 100]);
            let arrived = receive(&mut right, &mut pool, 50);
            arrived.into_iter().for_each(|frame| pool.free(frame));

            left.close(&mut pool);
            right.close(&mut pool);

            assert_eq!(free_slots(&mut pool), free, "round {round}");
        }
        // The kernel removes a program with a short delay after its last user.
        let is_off = || !run("ip", "-d link show left").1.contains("xdp");
        assert!((0..1_000).any(|_| is_off()), "the program is still there");
    });
}

#[test]
fn a_port_refuses_frames_of_another_pool() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let (mut pool, mut other) = (pool(), pool());
        let mut left = open("left", XdpMode::Generic, &pool);
        let mut right = open("right", XdpMode::Generic, &pool);
        prime(&mut right, &mut pool);
        let stranger = other.alloc_from(&pattern(1, 60)).expect("a slot");

        let done = left.transmit(&mut other, &mut vec![stranger]);
        assert_eq!((done.sent, done.dropped), (0, 1));
        send(&mut left, &mut pool, &[pattern(2, 60)]);
        let mut vector = frame::Vector::new();
        assert_eq!(right.receive(&mut other, &mut vector), 0);

        assert_eq!(receive_bytes(&mut right, &mut pool, 1), [pattern(2, 60)]);
    });
}

#[test]
fn a_link_works_again_after_being_down() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let mut pool = pool();
        let mut left = open("left", XdpMode::Generic, &pool);
        let mut right = open("right", XdpMode::Generic, &pool);
        prime(&mut right, &mut pool);
        let free = free_slots(&mut pool);
        ip("link set left down");
        for _ in 0..3 {
            let frame = pool.alloc_from(&pattern(1, 60)).expect("a slot");
            left.transmit(&mut pool, &mut vec![frame]);
        }
        assert_eq!(
            left.counters().transmit_errors,
            2,
            "the first one waits in the ring"
        );
        assert_eq!(pool.available(Class::Small), free[0] - 1);

        ip("link set left up");
        let mut links = netio::link::Links::open().expect("netlink");
        eventually("the carrier", || {
            links.find("left").expect("the device").running
        });
        send(&mut left, &mut pool, &[pattern(2, 60)]);

        let arrived = receive_bytes(&mut right, &mut pool, 1);
        assert!(
            arrived
                .iter()
                .all(|bytes| [pattern(1, 60), pattern(2, 60)].contains(bytes))
        );
    });
}

#[test]
fn a_port_without_pending_frames_has_sent_all() {
    /// More frames than some kernels send in one call of `transmit`.
    const FRAMES: usize = 2000;
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let sizes = frame::Sizes {
            small: 8192,
            ..frame::Sizes::LEAST
        };
        let mut pool = Pool::new(sizes).expect("memory");
        let mut left = open_with("left", XdpMode::Generic, &pool, 2048);
        let mut right = open_with("right", XdpMode::Generic, &pool, 2048);
        prime(&mut right, &mut pool);
        let frames = (0..FRAMES).map(|_| pool.alloc_from(&pattern(1, 60)).expect("a slot"));
        let mut frames: Vec<_> = frames.collect();

        assert_eq!(left.transmit(&mut pool, &mut frames).sent, FRAMES as u32);
        while left.is_sending() {
            left.flush(&mut pool);
        }

        assert_eq!(receive_bytes(&mut right, &mut pool, FRAMES).len(), FRAMES);
    });
}

#[test]
fn frames_pass_between_af_xdp_and_af_packet() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let mut pool = pool();
        let mut left = PacketPort::open("left", 1).expect("a packet socket");
        let mut right = open("right", XdpMode::Generic, &pool);
        prime(&mut right, &mut pool);

        send(&mut left[0], &mut pool, &[pattern(1, 700)]);
        assert_eq!(receive_bytes(&mut right, &mut pool, 1), [pattern(1, 700)]);
        send(&mut right, &mut pool, &[pattern(2, 701)]);
        assert_eq!(receive_bytes(&mut left[0], &mut pool, 1), [pattern(2, 701)]);
    });
}

/// Makes a port lend its first slots; before its first call of `receive` it has none.
fn prime(port: &mut XdpPort, pool: &mut Pool) {
    let mut vector = frame::Vector::new();
    assert_eq!(port.receive(pool, &mut vector), 0);
}
