//! Offloaded packets are distinguished by address: the kernel forwards them as a router would, or not at all.

use frame::InterfaceId;
use frame::shortcut::{LaneSelector, LaneTraffic};

use crate::bed::*;
use crate::common::*;

#[test]
fn the_kernel_forwards_and_counts_installed_flows() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        for plain in [PLAIN4, PLAIN6] {
            bed.is_asked(&[plain.frame()]);
            bed.learn(&plain);
            // Every IPv4 header checksum except one occurs for some TTL.
            let packets: Vec<Packet> = (2..=255).map(|ttl| Packet { ttl, ..plain }).collect();

            for part in packets.chunks(64) {
                let sent: Vec<_> = part.iter().map(Packet::frame).collect();
                let expected: Vec<_> = part.iter().map(Packet::forwarded).collect();
                bed.passes(&sent, &expected);
            }

            let went = LaneTraffic {
                lane: bed.lane(),
                ipv6: plain.ipv6,
                packets: 254,
                bytes: 254 * plain.frame().len() as u64,
            };
            assert_eq!(bed.went(LaneSelector::Of(InterfaceId(3))), []);
            // IPv4 is looked up by ingress, IPv6 by egress.
            let by = if plain.ipv6 {
                went.lane.egress
            } else {
                went.lane.ingress
            };
            assert_eq!(bed.went(LaneSelector::Of(by)), [went]);
            assert_eq!(bed.went(LaneSelector::All), []);
            bed.passes(&[plain.frame()], &[plain.forwarded()]);
            assert_eq!(bed.went(LaneSelector::All).len(), 1);
        }
    });
}

#[test]
fn boundary_checksums_are_forwarded_correctly() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        bed.learn(&PLAIN4);
        // Identifications for checksums 0xfeff, 0xfefe, 0xffff and 0: a carry occurs.
        for wanted in [0xfeff_u16, 0xfefe, 0xff00, 0xffff, 0x0000, 0x0001] {
            let mut frame = PLAIN4.frame();
            let now = u16::from_be_bytes([frame[24], frame[25]]);
            let id = u16::from_be_bytes([frame[18], frame[19]]);
            let id = u32::from(id) + u32::from(now) + u32::from(!wanted);
            let id = (id & 0xffff) + (id >> 16);
            let id = ((id & 0xffff) + (id >> 16)) as u16;
            frame[18..20].copy_from_slice(&id.to_be_bytes());
            frame[24..26].fill(0);
            let sum = checksum(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            let mut expected = frame.clone();
            expected[..12].copy_from_slice(&link(NEXT, OUT));
            expected[22] -= 1;
            // Incremental update by RFC 1624; the receiver verifies the header.
            expected[24..26].fill(0);

            send(&mut bed.left, &mut bed.pool, &[frame]);
            let mut came = receive_bytes(&mut bed.right, &mut bed.pool, 1).remove(0);

            assert_eq!(checksum(&came[14..34]), 0, "{wanted:#x}: {came:x?}");
            came[24..26].fill(0);
            assert_eq!(came, expected);
        }
    });
}

#[test]
fn all_other_packets_go_to_the_router() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        for plain in [PLAIN4, PLAIN6] {
            bed.learn(&plain);
            bed.passes(&[plain.frame()], &[plain.forwarded()]);
            let (len, ttl) = if plain.ipv6 { (18, 21) } else { (16, 22) };
            let frames = [
                Packet { ttl: 1, ..plain }.frame(),
                Packet { ttl: 0, ..plain }.frame(),
                Packet {
                    payload: 1001,
                    ..plain
                }
                .frame(),
                Packet {
                    source: plain.source ^ 1,
                    ..plain
                }
                .frame(),
                Packet {
                    destination: plain.destination ^ 1 << 20,
                    ..plain
                }
                .frame(),
                // Other unicast destination MAC address, and broadcast.
                changed(&plain, |frame| frame[5] ^= 1),
                changed(&plain, |frame| frame[..6].fill(0xff)),
                // Other version, header without end, header that ends too late, and padding.
                changed(&plain, |frame| frame[14] ^= 0x10),
                changed(&plain, |frame| frame.truncate(ttl)),
                changed(&plain, |frame| frame[len + 1] += 1),
                changed(&plain, |frame| frame.push(0)),
                // VLAN tag.
                changed(&plain, |frame| {
                    frame.splice(12..12, [0x81, 0, 0, 7]);
                }),
            ];
            bed.is_asked(&frames);
        }
        let wrong = |at: usize| {
            let mut frame = PLAIN4.frame();
            frame[at] ^= 0x40;
            frame
        };
        // Wrong checksums, IPv4 options, hop-by-hop options.
        bed.is_asked(&[wrong(24), wrong(18), wrong(23)]);
        let options = changed(&PLAIN4, |frame| {
            frame[14] = 0x46;
            frame[17] += 4;
            frame.splice(34..34, [1, 1, 1, 0]);
        });
        bed.is_asked(&[options, changed(&PLAIN6, |frame| frame[20] = 0)]);
        // The same packet on another ingress device.
        send(&mut bed.right, &mut bed.pool, &[PLAIN4.frame()]);
        assert_eq!(
            receive_bytes(&mut bed.far, &mut bed.pool, 1),
            [PLAIN4.frame()]
        );
    });
}

#[test]
fn flows_installed_before_a_change_are_removed() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        bed.learn(&PLAIN4);
        bed.passes(&[PLAIN4.frame()], &[PLAIN4.forwarded()]);

        bed.shortcuts.forget();

        bed.is_asked(&[PLAIN4.frame()]);
        // A round that began before the change used the old state.
        let straight = bed.straight(&PLAIN4);
        bed.near().begin();
        bed.shortcuts.forget();
        bed.near().install(&straight);
        bed.is_asked(&[PLAIN4.frame()]);
        bed.learn(&PLAIN4);
        bed.passes(&[PLAIN4.frame()], &[PLAIN4.forwarded()]);
    });
}

#[test]
fn many_installed_flows_are_not_confused() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        let count = 20_000_u128;
        let packet = |number: u128| Packet {
            source: PLAIN6.source + number,
            destination: PLAIN6.destination + number * 0x1_0001,
            ..PLAIN6
        };
        (0..count).for_each(|number| bed.learn(&packet(number)));
        let mut asked = 0;

        for first in (0..count).step_by(64) {
            let packets: Vec<Packet> = (first..(first + 64).min(count)).map(packet).collect();
            let sent: Vec<_> = packets.iter().map(Packet::frame).collect();
            send(&mut bed.left, &mut bed.pool, &sent);
            let marker = pattern(first as usize, 60);
            send(&mut bed.left, &mut bed.pool, std::slice::from_ref(&marker));
            let mut slow = Vec::new();
            while slow.last() != Some(&marker) {
                slow.extend(receive_bytes(&mut bed.near, &mut bed.pool, 1));
            }
            slow.pop();
            let fast = packets
                .iter()
                .filter(|packet| !slow.contains(&packet.frame()));
            let expected: Vec<_> = fast.map(Packet::forwarded).collect();
            let came = receive_bytes(&mut bed.right, &mut bed.pool, expected.len());
            assert_eq!(came, expected);
            asked += slow.len();
        }

        // Some buckets overflow occasionally.
        assert!(asked < 20, "{asked} of {count} had no room");
    });
}

/// Reference implementation: the frame that the kernel may forward for one of these two packets.
fn goes(frame: &[u8]) -> Option<Vec<u8>> {
    let (link, packet) = frame.split_at_checked(14)?;
    let header = if link[12..] == [8, 0] { 20 } else { 40 };
    packet.get(..header)?;
    let mut out = [&link_of_neighbour(link)?[..], packet].concat();
    let word = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let same = |at: usize, address: &[u8]| packet.get(at..at + address.len()) == Some(address);
    let (len, ttl) = match &link[12..] {
        [0x08, 0x00] => {
            let addresses = [PLAIN4.source, PLAIN4.destination].map(|a| (a as u32).to_be_bytes());
            let known = same(12, &addresses[0]) && same(16, &addresses[1]);
            let sound = packet[0] == 0x45 && checksum(&packet[..20]) == 0;
            (known && sound).then_some((usize::from(word(2)?), 8))?
        }
        [0x86, 0xdd] => {
            let addresses = [PLAIN6.source, PLAIN6.destination].map(u128::to_be_bytes);
            let known = same(8, &addresses[0]) && same(24, &addresses[1]);
            let sound = packet[0] >> 4 == 6 && packet[6] != 0;
            (known && sound).then_some((usize::from(word(4)?) + 40, 7))?
        }
        _ => return None,
    };
    if len != packet.len() || len > 1000 || packet[ttl] < 2 {
        return None;
    }
    out[14 + ttl] -= 1;
    if link[12] == 8 {
        out[24..26].fill(0);
    }
    Some(out)
}

/// Link header of forwarded frames addressed to the router.
fn link_of_neighbour(came: &[u8]) -> Option<Vec<u8>> {
    (came[..6] == ROUTER).then(|| [&link(NEXT, OUT)[..], &came[12..14]].concat())
}

#[test]
fn a_damaged_frame_is_forwarded_only_if_a_router_would() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        let mut rng = machine::Rng::seeded(0x5eed);
        let mut forwarded = 0;
        for plain in [PLAIN4, PLAIN6] {
            bed.learn(&plain);
            for _ in 0..4_000 {
                let mut frame = plain.frame();
                for _ in 0..rng.below(3) {
                    let at = rng.below(frame.len() as u64) as usize;
                    frame[at] ^= 1 << rng.below(8);
                }
                if rng.below(8) == 0 {
                    frame.truncate(14 + rng.below(60) as usize);
                }
                let Some(expected) = goes(&frame) else {
                    bed.is_asked(&[frame]);
                    continue;
                };
                send(&mut bed.left, &mut bed.pool, &[frame]);
                let mut came = receive_bytes(&mut bed.right, &mut bed.pool, 1).remove(0);
                if !plain.ipv6 {
                    assert_eq!(checksum(&came[14..34]), 0, "{came:x?}");
                    came[24..26].fill(0);
                }
                assert_eq!(came, expected);
                forwarded += 1;
            }
        }

        // Only the payload was damaged, or nothing.
        assert!(forwarded > 2_000, "{forwarded}");
    });
}
