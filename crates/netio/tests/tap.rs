//! TAP and TUN ports with the kernel's stack at the other end.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use common::*;
use frame::{Class, Offload, Port, Segmentation};
use netio::link::Links;
use netio::{Layer, PacketPort, Readiness, TapPort, WaitSet};

fn open(name: &str, layer: Layer) -> TapPort {
    let mut ports = TapPort::open(name, layer, 1).expect("a device");
    let mut links = Links::open().expect("netlink");
    let index = links.find(name).expect("the device").index;
    quiet(name);
    links.set_mtu(index, 9000).expect("an MTU");
    links.set_up(index, true).expect("the device is ours");
    ports.pop().expect("one port")
}

fn packet(device: &str) -> PacketPort {
    let mut ports = PacketPort::open(device, 1).expect("a packet socket");
    ports.pop().expect("one port")
}

#[test]
fn frames_of_every_length_cross_between_the_tap_and_its_device() {
    in_namespace_with_tun(|| {
        let (mut tap, mut pool) = (open("tap0", Layer::Tap), pool());
        let mut device = packet("tap0");
        let lengths = (60..1515).chain([1791, 1792, 1793, 4000, 9014, 60]);
        let sent: Vec<_> = lengths
            .enumerate()
            .map(|(n, len)| pattern(n, len))
            .collect();

        for part in sent.chunks(20) {
            send(&mut tap, &mut pool, part);
            assert_eq!(receive_bytes(&mut device, &mut pool, part.len()), part);
            send(&mut device, &mut pool, part);
            assert_eq!(receive_bytes(&mut tap, &mut pool, part.len()), part);
        }

        assert_eq!(tap.counters(), Default::default());
    });
}

#[test]
fn a_kernel_sender_hands_over_an_unfinished_checksum() {
    in_namespace_with_tun(|| {
        let (mut tap, mut pool) = (open("tap0", Layer::Tap), pool());
        ip("addr add 192.0.2.1/24 dev tap0");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0");
        let socket = UdpSocket::bind("192.0.2.1:0").expect("an address of ours");

        socket
            .send_to(b"unfinished", "192.0.2.2:9")
            .expect("a route");
        let arrived = receive(&mut tap, &mut pool, 1).pop().expect("one frame");

        let expected = Offload {
            needs_checksum: true,
            checksum_start: 34,
            checksum_offset: 6,
            ..Offload::FINISHED
        };
        assert_eq!(arrived.offload, expected);
        pool.free(arrived);
    });
}

#[test]
fn a_tun_carries_bare_packets() {
    in_namespace_with_tun(|| {
        let (mut tun, mut pool) = (open("tun0", Layer::Tun), pool());
        ip("addr add 192.0.2.1 peer 192.0.2.2 dev tun0");
        let socket = UdpSocket::bind("192.0.2.1:7000").expect("an address of ours");

        socket.send_to(b"there", "192.0.2.2:9").expect("a route");
        let mut arrived = receive(&mut tun, &mut pool, 1).pop().expect("one packet");
        assert_eq!(arrived.bytes()[0], 0x45);
        assert_eq!(arrived.offload.checksum_start, 20);

        // Returns the packet with addresses and ports exchanged, which keeps the checksum valid.
        arrived.bytes_mut()[12..20].rotate_left(4);
        arrived.bytes_mut()[20..24].rotate_left(2);
        let done = tun.transmit(&mut pool, &mut vec![arrived]);

        assert_eq!(done.sent, 1);
        let mut answer = [0; 16];
        let (len, from) = socket.recv_from(&mut answer).expect("a datagram");
        assert_eq!(from.to_string(), "192.0.2.2:9");
        assert_eq!(&answer[..len], b"there");
    });
}

/// The kernel sends through a TAP; its merged segments are forwarded through AF_PACKET and arrive merged at the far
/// end of a veth pair.
#[test]
fn a_tcp_segment_of_64_kb_passes_whole_from_tap_to_af_packet() {
    in_namespace_with_tun(|| {
        let (mut tap, mut pool) = (open("tap0", Layer::Tap), pool());
        cable("left", "right", 1500);
        let (mut left, mut right) = (packet("left"), packet("right"));
        let mut links = Links::open().expect("netlink");
        let index = links.find("tap0").expect("the device").index;
        links.set_mtu(index, 1500).expect("an MTU");
        let merged = merged_segment_from_the_kernel(&mut tap, &mut pool);
        let (bytes, offload) = (merged.bytes().to_vec(), merged.offload);
        assert!(bytes.len() > 32_000, "{} bytes", bytes.len());
        assert_eq!(offload.segmentation, Segmentation::Tcp4);

        let done = left.transmit(&mut pool, &mut vec![merged]);
        let arrived = receive(&mut right, &mut pool, 1).pop().expect("one frame");

        assert_eq!(done.sent, 1);
        assert!(arrived.bytes() == bytes, "the bytes differ");
        assert_eq!(arrived.offload, offload);
        pool.free(arrived);
    });
}

#[test]
fn two_queues_are_one_device() {
    in_namespace_with_tun(|| {
        let mut queues = TapPort::open("tap0", Layer::Tap, 2).expect("a device");
        let mut links = Links::open().expect("netlink");
        let index = links.find("tap0").expect("the device").index;
        quiet("tap0");
        links.set_up(index, true).expect("the device is ours");
        let (mut device, mut pool) = (packet("tap0"), pool());

        for (number, queue) in queues.iter_mut().enumerate() {
            send(queue, &mut pool, &[pattern(number, 100)]);
            assert_eq!(
                receive_bytes(&mut device, &mut pool, 1),
                [pattern(number, 100)]
            );
        }
        drop(device);
        drop(queues);

        eventually("the end of the device with its last queue", || {
            links
                .find("tap0")
                .is_err_and(|gone| gone.kind() == std::io::ErrorKind::NotFound)
        });
    });
}

#[test]
fn an_existing_tap_device_is_opened_with_its_queues() {
    in_namespace_with_tun(|| {
        let queues = |name: &str, wanted| {
            let mut opened = 0;
            eventually("that nobody has the device", || {
                match TapPort::open(name, Layer::Tap, wanted) {
                    Err(busy) if busy.raw_os_error() == Some(libc::EBUSY) => return false,
                    ports => opened = ports.expect("it is free").len(),
                }
                true
            });
            opened
        };

        ip("tuntap add single mode tap");
        assert_eq!((queues("single", 1), queues("single", 2)), (1, 1));
        ip("tuntap add several mode tap multi_queue");
        assert_eq!((queues("several", 1), queues("several", 2)), (1, 2));
    });
}

#[test]
fn a_tap_device_in_use_or_of_another_kind_is_refused() {
    in_namespace_with_tun(|| {
        let refusal = |name: &str, queues| {
            let refused = TapPort::open(name, Layer::Tap, queues).expect_err("not to be had");
            (refused.raw_os_error(), refused.to_string())
        };
        for queues in [1, 2] {
            let name = format!("tap{queues}");
            let _first = TapPort::open(&name, Layer::Tap, queues).expect("a new device");

            for wanted in [1, 2] {
                let (number, _) = refusal(&name, wanted);
                assert_eq!(number, Some(libc::EBUSY), "{wanted} of {queues}");
            }
        }
        cable("left", "right", 1500);
        ip("tuntap add tun0 mode tun");
        for other in ["left", "tun0"] {
            let said = "a device of this name exists and is not a TAP device";
            assert_eq!(refusal(other, 1).1, said);
        }
    });
}

/// Receives datagrams of kernel sockets, one flow each; returns the queue of each flow, in order of arrival.
fn arrivals(queues: &mut [TapPort], pool: &mut frame::Pool, count: usize) -> Vec<(usize, u16, u8)> {
    let mut arrived = Vec::new();
    eventually("all datagrams", || {
        for (number, queue) in queues.iter_mut().enumerate() {
            let mut vector = frame::Vector::new();
            queue.receive(pool, &mut vector);
            for frame in vector.drain() {
                let bytes = frame.bytes();
                // UDP to port 9: returns the source port and the number in the payload.
                if bytes[12..14] == [8, 0] && bytes[23] == 17 && bytes[36..38] == [0, 9] {
                    let port = u16::from_be_bytes([bytes[34], bytes[35]]);
                    arrived.push((number, port, bytes[42]));
                }
                pool.free(frame);
            }
        }
        arrived.len() >= count
    });
    arrived
}

#[test]
fn flows_are_spread_over_queues_and_keep_queue_and_order() {
    const FLOWS: usize = 64;
    const EACH: u8 = 20;
    in_namespace_with_tun(|| {
        let mut queues = TapPort::open("tap0", Layer::Tap, 2).expect("a device");
        let mut pool = pool();
        ip("link set tap0 up");
        ip("addr add 192.0.2.1/24 dev tap0");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0");
        let sockets: Vec<_> = (0..FLOWS)
            .map(|_| UdpSocket::bind("192.0.2.1:0").expect("an address of ours"))
            .collect();
        let mut queue_of = std::collections::BTreeMap::new();

        for number in 0..EACH {
            for socket in &sockets {
                socket.send_to(&[number], "192.0.2.2:9").expect("a route");
            }
            for (queue, port, received) in arrivals(&mut queues, &mut pool, FLOWS) {
                assert_eq!(received, number, "port {port} is out of order");
                let first = *queue_of.entry(port).or_insert(queue);
                assert_eq!(queue, first, "port {port} changed its queue");
            }
        }

        let second = queue_of.values().filter(|queue| **queue == 1).count();
        assert!(
            (8..=FLOWS - 8).contains(&second),
            "{second} of {FLOWS} by the second"
        );
        // A worker answers on its own queue; further packets of the flow arrive on that queue.
        let answer = answer_to(sockets[0].local_addr().expect("bound").port());
        for queue in [1, 0, 1] {
            send(&mut queues[queue], &mut pool, std::slice::from_ref(&answer));
            sockets[0].recv(&mut [0; 8]).expect("the answer");
            sockets[0].send_to(&[0], "192.0.2.2:9").expect("a route");
            let arrived = arrivals(&mut queues, &mut pool, 1);
            assert_eq!(arrived[0].0, queue);
        }
    });
}

/// A datagram from 192.0.2.2 port 9 to 192.0.2.1, without a checksum (RFC 768).
fn answer_to(port: u16) -> Vec<u8> {
    // Broadcast, because the kernel chooses the device's own MAC address.
    let mut bytes = vec![0xff; 6];
    bytes.extend([2, 0, 0, 0, 0, 2, 8, 0]);
    let mut header = [
        0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1,
    ];
    let words = header.as_chunks::<2>().0.iter();
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(header);
    bytes.extend([0, 9]);
    bytes.extend(port.to_be_bytes());
    bytes.extend([0, 9, 0, 0, 7]);
    bytes
}

/// Answers a TCP connection of the kernel until the kernel sends more than 32 KB at once.
///
/// The kernel is also the far end of the connection: packets from the TAP are sent back with exchanged addresses, to
/// a listener on the exchanged address.
fn merged_segment_from_the_kernel(tap: &mut TapPort, pool: &mut frame::Pool) -> frame::Frame {
    ip("addr add 192.0.2.1/24 dev tap0");
    ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0");
    let listener = TcpListener::bind("192.0.2.1:7000").expect("an address of ours");
    let client = std::thread::spawn(|| TcpStream::connect("192.0.2.2:7000"));
    let server = std::thread::spawn(move || listener.accept());
    while !client.is_finished() || !server.is_finished() {
        assert!(reflect(tap, pool).is_none(), "nothing was written yet");
    }
    let mut stream = client.join().expect("no panic").expect("a connection");
    let (mut far, _) = server.join().expect("no panic").expect("its other end");
    std::thread::spawn(move || while matches!(far.read(&mut [0; 65536]), Ok(1..)) {});
    std::thread::spawn(move || stream.write_all(&vec![7; 4 << 20]));
    let mut large = None;
    eventually("a merged segment", || {
        large = reflect(tap, pool);
        large.is_some()
    });
    large.expect("it was just there")
}

/// Sends packets from the TAP back with exchanged addresses; returns a frame of more than 32 KB.
fn reflect(tap: &mut TapPort, pool: &mut frame::Pool) -> Option<frame::Frame> {
    wait(tap, std::time::Duration::from_millis(1));
    let mut vector = frame::Vector::new();
    tap.receive(pool, &mut vector);
    let mut large = None;
    let mut back = Vec::new();
    for mut frame in vector.drain() {
        if frame.len() > 32_000 && large.is_none() {
            large = Some(frame);
            continue;
        }
        let bytes = frame.bytes_mut();
        let (macs, rest) = bytes.split_at_mut(12);
        macs.rotate_left(6);
        rest[14..22].rotate_left(4);
        back.push(frame);
    }
    tap.transmit(pool, &mut back);
    large
}

#[test]
fn many_idle_devices_cost_one_system_call_per_step() {
    in_namespace_with_tun(|| {
        let readiness = Readiness::new().expect("descriptors");
        let mut pool = pool();
        let mut ports: Vec<_> = (0..200)
            .map(|number| {
                let mut port = open(&format!("tun{number}"), Layer::Tun);
                port.share(&readiness).expect("descriptors");
                port
            })
            .collect();
        // Packets that the kernel sends when a link comes up.
        let mut step = |ports: &mut [TapPort]| {
            let mut vector = frame::Vector::new();
            let mut seen = Vec::new();
            for (number, port) in ports.iter_mut().enumerate() {
                if port.receive(&mut pool, &mut vector) > 0 {
                    seen.push(number);
                }
                vector.drain().for_each(|frame| pool.free(frame));
            }
            seen
        };
        while !step(&mut ports).is_empty() {}
        let reads = |ports: &[TapPort]| ports.iter().map(TapPort::reads).sum::<u64>();
        let before = (readiness.rounds(), reads(&ports));

        for _ in 0..50 {
            assert!(step(&mut ports).is_empty());
        }

        assert_eq!(readiness.rounds() - before.0, 50);
        assert_eq!(reads(&ports), before.1, "nobody is read who has nothing");

        ip("addr add 192.0.2.1/24 dev tun7");
        let mut waiting = WaitSet::new().expect("descriptors");
        let fd = ports[100].wait_fd().expect("it can be waited on");
        waiting.add(fd).expect("one for all");
        let socket = UdpSocket::bind("192.0.2.1:0").expect("an address of ours");
        socket.send_to(b"one", "192.0.2.2:9").expect("a route");
        let woken = waiting.wait(None).expect("no error");
        assert_eq!(woken.ready, 1);
        assert_eq!(step(&mut ports), [7]);

        // A dropped port leaves the set although its descriptor stays open; a new one takes its slot.
        let gone = ports.remove(7);
        let tether = gone.tether().expect("descriptors");
        socket.send_to(b"unread", "192.0.2.2:9").expect("a route");
        drop(gone);
        assert!(step(&mut ports).is_empty());
        ip("link del tun8");
        assert!(step(&mut ports).is_empty());
        let after = reads(&ports);
        assert!(step(&mut ports).is_empty());
        assert_eq!(reads(&ports), after, "a dead device is not asked again");
        drop(tether);
        let mut port = open("tun7", Layer::Tun);
        port.share(&readiness).expect("a place");
        ports.push(port);
        while !step(&mut ports).is_empty() {}
        ip("addr add 198.51.100.1/24 dev tun7");
        let socket = UdpSocket::bind("198.51.100.1:0").expect("an address of ours");
        socket.send_to(b"two", "198.51.100.2:9").expect("a route");
        assert_eq!(step(&mut ports), [199]);
    });
}

#[test]
fn idle_devices_hold_no_slots() {
    in_namespace_with_tun(|| {
        let readiness = Readiness::new().expect("descriptors");
        let mut pool = pool();
        let free = |pool: &mut frame::Pool| {
            pool.collect();
            [Class::Small, Class::Large].map(|class| pool.available(class))
        };
        let before = free(&mut pool);
        let mut ports: Vec<_> = (0..8)
            .map(|number| {
                let mut port = open(&format!("tun{number}"), Layer::Tun);
                port.share(&readiness).expect("descriptors");
                ip(&format!(
                    "addr add 192.0.2.1 peer 198.51.100.{number} dev tun{number}"
                ));
                port
            })
            .collect();
        let socket = UdpSocket::bind("192.0.2.1:0").expect("an address of ours");

        for (number, port) in ports.iter_mut().enumerate() {
            let to = format!("198.51.100.{number}:9");
            socket.send_to(b"once", to).expect("a route");
            let mut arrived = receive(port, &mut pool, 1);
            arrived.drain(..).for_each(|frame| pool.free(frame));
            assert!(port.reads() > 0);
        }

        assert_eq!(free(&mut pool), before);
    });
}
