//! Offloaded packets are distinguished by connection, translated, and counted per connection.

use frame::shortcut::{
    AddressPair, Connection, ConnectionTraffic, Handler, LaneSelector, Rewrite, Rules, Service,
    Shortcut, ShortcutPath,
};

use crate::bed::*;
use crate::common::*;

const UDP: u8 = 17;
const TCP: u8 = 6;
const ACK: u8 = 0x10;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;

/// A packet of a connection.
#[derive(Clone, Copy)]
struct Talk {
    between: AddressPair,
    protocol: u8,
    ports: [u16; 2],
    flags: u8,
    ttl: u8,
    /// UDP with a checksum.
    sums: bool,
    /// Length of the payload after the TCP or UDP header.
    payload: usize,
    /// Fill byte of the payload, so that checksums differ.
    fill: u8,
}

const TALK: Talk = Talk {
    between: AddressPair {
        source: 0x0a00_0001,
        destination: 0xc000_0207,
        ipv6: false,
    },
    protocol: UDP,
    ports: [40_000, 53],
    flags: ACK,
    ttl: 64,
    sums: true,
    payload: 21,
    fill: 0,
};

/// All four combinations of address family and protocol.
fn talks() -> [Talk; 4] {
    let between6 = AddressPair {
        source: PLAIN6.source,
        destination: PLAIN6.destination,
        ipv6: true,
    };
    let protocol = TCP;
    let tcp = Talk { protocol, ..TALK };
    let of6 = |talk: Talk| Talk {
        between: between6,
        ..talk
    };
    [TALK, tcp, of6(TALK), of6(tcp)]
}

impl Talk {
    /// The frame as sent to the router.
    fn frame(&self) -> Vec<u8> {
        self.behind(link(ROUTER, FROM))
    }

    /// The frame as forwarded by the router.
    fn forwarded(&self) -> Vec<u8> {
        let ttl = self.ttl - 1;
        Self { ttl, ..*self }.behind(link(NEXT, OUT))
    }

    /// The packet after address translation.
    fn translated(&self) -> Self {
        let AddressPair {
            source,
            destination,
            ipv6,
        } = self.between;
        Self {
            between: AddressPair {
                source: source ^ 0x00ff_3412,
                destination: destination ^ if ipv6 { 0xabcd << 100 } else { 0x55 },
                ipv6,
            },
            ports: [self.ports[0] ^ 0x1357, self.ports[1] + 1],
            ..*self
        }
    }

    fn behind(&self, link: [u8; 12]) -> Vec<u8> {
        let upper = self.upper();
        let packet = Packet {
            source: self.between.source,
            destination: self.between.destination,
            ipv6: self.between.ipv6,
            ttl: self.ttl,
            payload: upper.len(),
        };
        let mut frame = packet.behind(link);
        let (protocol, start) = if self.between.ipv6 {
            (20, 54)
        } else {
            (23, 34)
        };
        frame[protocol] = self.protocol;
        frame[start..].copy_from_slice(&upper);
        if !self.between.ipv6 {
            frame[24..26].fill(0);
            let sum = checksum(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame
    }

    /// TCP or UDP header and payload.
    fn upper(&self) -> Vec<u8> {
        let mut upper: Vec<u8> = self
            .ports
            .iter()
            .flat_map(|port| port.to_be_bytes())
            .collect();
        let at = match self.protocol {
            UDP => {
                upper.extend((8 + self.payload as u16).to_be_bytes());
                upper.extend([0; 2]);
                6
            }
            _ => {
                upper.extend([1, 2, 3, 4, 5, 6, 7, 8, 0x50, self.flags, 0xff, 0xff]);
                upper.extend([0; 4]);
                16
            }
        };
        upper.extend((0..self.payload).map(|at| at as u8 ^ self.fill));
        if self.protocol != UDP || self.sums {
            let sum = self.sum(&upper);
            let sum = if self.protocol == UDP && sum == 0 {
                0xffff
            } else {
                sum
            };
            upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
        upper
    }

    /// Checksum over the pseudo header and `upper`.
    fn sum(&self, upper: &[u8]) -> u16 {
        let AddressPair {
            source,
            destination,
            ipv6,
        } = self.between;
        let mut bytes: Vec<u8> = match ipv6 {
            true => [source.to_be_bytes(), destination.to_be_bytes()].concat(),
            false => [source as u32, destination as u32]
                .map(u32::to_be_bytes)
                .concat(),
        };
        bytes.extend([0, self.protocol]);
        bytes.extend((upper.len() as u16).to_be_bytes());
        bytes.extend(upper);
        bytes.extend(vec![0; bytes.len() % 2]);
        checksum(&bytes)
    }

    fn service(&self) -> Service {
        let [a, b] = self.ports.map(u16::to_be_bytes);
        Service {
            protocol: self.protocol,
            ports: [a[0], a[1], b[0], b[1]],
        }
    }

    /// Length from the network header on.
    fn len(&self) -> u64 {
        self.frame().len() as u64 - 14
    }
}

/// Rewrite from one packet to another.
fn rewrite(before: &Talk, after: &Talk) -> Rewrite {
    let addresses = |talk: &Talk| {
        let both = [talk.between.source, talk.between.destination];
        both.map(u128::to_be_bytes).concat()
    };
    let ports = |talk: &Talk| talk.service().ports.to_vec();
    let header = difference(&addresses(before), &addresses(after));
    let both = |talk: &Talk| [addresses(talk), ports(talk)].concat();
    Rewrite {
        between: after.between,
        ports: after.service().ports,
        header: header.to_be(),
        upper: difference(&both(before), &both(after)).to_be(),
    }
}

/// Difference of two checksums after a replacement (RFC 1624).
fn difference(old: &[u8], new: &[u8]) -> u16 {
    let sum = |bytes: &[u8]| u32::from(!checksum(bytes));
    let both = sum(new) + u32::from(checksum(old));
    ((both & 0xffff) + (both >> 16)) as u16
}

impl Bed {
    fn learn_talk(&mut self, talk: &Talk, token: u64, rewrite: Option<Rewrite>) {
        let shortcut = Shortcut {
            between: talk.between,
            connection: Some(Connection {
                service: talk.service(),
                token,
                rewrite,
            }),
            lane: self.lane_of_rules(&[7, 9]),
        };
        self.near().begin();
        self.near().install(&shortcut);
    }

    fn lane_of_rules(&mut self, numbers: &[u32]) -> ShortcutPath {
        let mut rules = Rules::default();
        assert!(numbers.iter().all(|number| rules.push(*number)));
        ShortcutPath {
            handler: Handler::Firewall,
            rules,
            ..self.lane()
        }
    }

    /// Gathers the counters while all connections stay.
    fn gather(&mut self) -> Vec<ConnectionTraffic> {
        let mut all = Vec::new();
        self.near().gather(None, &mut |gathered| {
            all.push(gathered);
            true
        });
        all
    }
}

#[test]
fn packets_of_an_offloaded_connection_are_forwarded_and_counted() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        for (talk, token) in talks().into_iter().zip(1 << 63..) {
            bed.is_asked(&[talk.frame()]);
            bed.learn_talk(&talk, token, None);
            let sizes: Vec<Talk> = (0..40).map(|payload| Talk { payload, ..talk }).collect();
            let sent: Vec<_> = sizes.iter().map(Talk::frame).collect();
            let expected: Vec<_> = sizes.iter().map(Talk::forwarded).collect();

            bed.passes(&sent, &expected);

            let all = ConnectionTraffic {
                token,
                packets: 40,
                bytes: sizes.iter().map(Talk::len).sum(),
            };
            let waiting = bed.shortcuts.waiting(&talk.between, &talk.service());
            assert_eq!(waiting, Some(all));
            assert_eq!(bed.gather(), [all]);
            assert_eq!(bed.gather(), []);
            assert_eq!(bed.went(LaneSelector::CountedBy(8)), []);
            let went = bed.went(LaneSelector::CountedBy(9)).remove(0);
            assert_eq!(went.lane, bed.lane_of_rules(&[7, 9]));
            assert_eq!((went.packets, went.bytes), (40, all.bytes + 40 * 14));
        }
    });
}

#[test]
fn other_packets_between_the_same_hosts_go_to_the_worker() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        for (talk, token) in talks().into_iter().zip(1..) {
            bed.learn_talk(&talk, token, None);
            bed.passes(&[talk.frame()], &[talk.forwarded()]);
            let ipv6 = talk.between.ipv6;
            let other = Talk {
                protocol: talk.protocol ^ UDP ^ TCP,
                ports: [1, 2],
                ..talk
            };
            let [from, to] = talk.ports;
            let with = |ports| Talk { ports, ..talk }.frame();
            let mut frames = vec![
                with([from, to + 1]),
                with([from ^ 0x8000, to]),
                with([to, from]),
                other.frame(),
            ];
            if talk.protocol == TCP {
                let flagged = |flags| Talk { flags, ..talk }.frame();
                frames.extend([SYN, ACK | FIN, RST, ACK | RST].map(flagged));
            }
            // The TCP or UDP header is truncated.
            let short = Packet {
                source: talk.between.source,
                destination: talk.between.destination,
                ipv6,
                ttl: 64,
                payload: if talk.protocol == TCP { 19 } else { 7 },
            };
            let mut short = short.frame();
            let (next, upper) = if ipv6 { (20, 54) } else { (23, 34) };
            short[next] = talk.protocol;
            short[upper..upper + 4].copy_from_slice(&talk.service().ports);
            if !ipv6 {
                short[24..26].fill(0);
                let sum = checksum(&short[14..34]);
                short[24..26].copy_from_slice(&sum.to_be_bytes());
                // First, last and middle fragment.
                for fragment in [0x2000_u16, 0x0007, 0x2007] {
                    let mut frame = talk.frame();
                    frame[20..22].copy_from_slice(&fragment.to_be_bytes());
                    frame[24..26].fill(0);
                    let sum = checksum(&frame[14..34]);
                    frame[24..26].copy_from_slice(&sum.to_be_bytes());
                    frames.push(frame);
                }
            }
            frames.push(short);
            bed.is_asked(&frames);
        }
    });
}

#[test]
fn packets_are_translated_and_their_checksums_follow() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        for (talk, token) in talks().into_iter().zip(1..) {
            bed.learn_talk(&talk, token, Some(rewrite(&talk, &talk.translated())));
            let fills: Vec<Talk> = (0..=255).map(|fill| Talk { fill, ..talk }).collect();
            for part in fills.chunks(64) {
                let sent: Vec<_> = part.iter().map(Talk::frame).collect();
                let expected = part.iter().map(|talk| talk.translated().forwarded());
                let expected: Vec<_> = expected.collect();
                bed.passes(&sent, &expected);
            }
            assert_eq!(bed.gather()[0].packets, 256);
        }
        // UDP without checksum stays without checksum.
        let none = Talk {
            sums: false,
            ..TALK
        };
        bed.passes(&[none.frame()], &[none.translated().forwarded()]);
    });
}

#[test]
fn a_zero_udp_checksum_is_sent_as_all_ones() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        let after = TALK.translated();
        bed.learn_talk(&TALK, 1, Some(rewrite(&TALK, &after)));
        // Two payload bytes that make the checksum after translation the other representation of zero.
        let mut wanted = after.forwarded();
        wanted[40..42].fill(0);
        wanted[42..44].fill(0);
        let upper = &wanted[34..];
        let missing = after.sum(upper);
        let with = |talk: &Talk, mut frame: Vec<u8>| {
            frame[40..42].fill(0);
            frame[42..44].copy_from_slice(&missing.to_be_bytes());
            let sum = talk.sum(&frame[34..]);
            frame[40..42].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
            frame
        };
        let expected = with(&after, after.forwarded());
        assert_eq!(expected[40..42], [0xff, 0xff]);

        bed.passes(&[with(&TALK, TALK.frame())], &[expected]);
    });
}

#[test]
fn an_offload_entry_ends_with_its_connection() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        bed.learn_talk(&TALK, 1, None);
        bed.passes(&[TALK.frame()], &[TALK.forwarded()]);

        bed.near().remove(&TALK.between, &TALK.service());

        bed.is_asked(&[TALK.frame()]);
        // Another connection with the same ports gets a shortcut after the first one's was released.
        let after = TALK.translated();
        let second = Some(rewrite(&TALK, &after));
        bed.learn_talk(&TALK, 2, second);
        bed.is_asked(&[TALK.frame()]);
        assert_eq!(bed.gather()[0].token, 1);
        bed.learn_talk(&TALK, 2, second);
        bed.is_asked(&[TALK.frame()]);
        bed.gather();
        bed.learn_talk(&TALK, 2, second);
        bed.passes(&[TALK.frame()], &[after.forwarded()]);
        // The shortcut is removed when the gathering caller releases it.
        bed.near().gather(None, &mut |gathered| gathered.token != 2);
        bed.is_asked(&[TALK.frame()]);
    });
}

#[test]
fn an_offload_entry_is_replaced_without_mixed_reads() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        let after = TALK.translated();
        let second = Some(rewrite(&TALK, &after));
        bed.learn_talk(&TALK, 1, None);
        bed.passes(&[TALK.frame()], &[TALK.forwarded()]);

        // In the same generation it must be released first.
        for _ in 0..2 {
            bed.learn_talk(&TALK, 1, second);
            bed.is_asked(&[TALK.frame()]);
            bed.gather();
        }
        bed.learn_talk(&TALK, 1, second);
        bed.passes(&[TALK.frame()], &[after.forwarded()]);

        // In the next generation it is a new shortcut, which continues the counters.
        bed.shortcuts.forget();
        bed.is_asked(&[TALK.frame()]);
        bed.learn_talk(&TALK, 1, None);
        bed.passes(&[TALK.frame()], &[TALK.forwarded()]);
        let gathered = ConnectionTraffic {
            token: 1,
            packets: 2,
            bytes: 2 * TALK.len(),
        };
        assert_eq!(bed.gather(), [gathered]);
    });
}

#[test]
fn counters_of_each_connection_are_collected_once_a_second() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        let talks: Vec<Talk> = (0..100)
            .map(|port| Talk {
                ports: [1000 + port, 53],
                ..TALK
            })
            .collect();
        for (talk, token) in talks.iter().zip(1..) {
            bed.learn_talk(talk, token, None);
        }
        assert!(bed.near().gathers());
        for second in 5..8 {
            let mut tokens = Vec::new();
            for tick in 0..64 {
                if tick == 0 {
                    let sent: Vec<_> = talks.iter().map(Talk::frame).collect();
                    let expected: Vec<_> = talks.iter().map(Talk::forwarded).collect();
                    bed.passes(&sent, &expected);
                }
                let before = tokens.len();
                bed.near()
                    .gather(Some(second * 64 + tick), &mut |gathered| {
                        assert_eq!(gathered.packets, 1);
                        tokens.push(gathered.token);
                        true
                    });
                // Not all at once.
                assert!(tokens.len() - before <= 4);
            }
            assert!(tokens.iter().copied().eq(1..=100), "{tokens:?}");
        }
        // Unused shortcuts are released.
        bed.shortcuts.forget();
        bed.near().begin();
        bed.gather();
        bed.gather();
        assert!(!bed.near().gathers());
    });
}

#[test]
fn lanes_of_removed_rules_are_reused() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        // As many shortcuts as the table holds.
        for rule in 0..1 << 14 {
            let shortcut = Shortcut {
                between: TALK.between,
                connection: None,
                lane: bed.lane_of_rules(&[rule]),
            };
            bed.near().install(&shortcut);
        }
        bed.learn_talk(&TALK, 1, None);
        bed.is_asked(&[TALK.frame()]);

        bed.shortcuts.forget();

        // After two or three seconds no running program can still use a released shortcut.
        let begin = std::time::Instant::now();
        loop {
            bed.learn_talk(&TALK, 1, None);
            if bed
                .shortcuts
                .waiting(&TALK.between, &TALK.service())
                .is_some()
            {
                break;
            }
            assert!(begin.elapsed().as_secs() < 60);
            std::thread::yield_now();
        }
        bed.passes(&[TALK.frame()], &[TALK.forwarded()]);
        assert_eq!(
            bed.went(LaneSelector::All)[0].lane,
            bed.lane_of_rules(&[7, 9])
        );
    });
}

/// Reference implementation: the frame that the kernel may forward for a packet of this connection, without
/// checksums.
fn goes(frame: &[u8], talk: &Talk, after: &Talk) -> Option<Vec<u8>> {
    let (header, next, ttl, len) = match talk.between.ipv6 {
        true => (40, 6, 7, 4),
        false => (20, 9, 8, 2),
    };
    let upper = if talk.protocol == TCP { 20 } else { 8 };
    let (link, packet) = frame.split_at_checked(14)?;
    packet.get(..header + upper)?;
    let model = talk.frame();
    let word = |at: usize| usize::from(packet[at]) << 8 | usize::from(packet[at + 1]);
    let same = |range: core::ops::Range<usize>| packet[range.clone()] == model[14..][range];
    let (sound, total) = match talk.between.ipv6 {
        true => (packet[0] >> 4 == 6 && same(8..40), word(len) + 40),
        false => {
            let whole = word(6) & 0x3fff == 0;
            let sound = packet[0] == 0x45 && checksum(&packet[..20]) == 0;
            (sound && whole && same(12..20), word(len))
        }
    };
    let fits = total == packet.len() && packet[ttl] >= 2;
    let known = same(next..next + 1) && same(header..header + 4) && link[..6] == ROUTER;
    let ends = talk.protocol == TCP && packet[header + 13] & 7 != 0;
    if !(sound && fits && known && link[12..] == model[12..14]) || ends {
        return None;
    }
    let mut out = frame.to_vec();
    let leaves = after.forwarded();
    out[..12].copy_from_slice(&leaves[..12]);
    out[14 + ttl] -= 1;
    let addresses = if talk.between.ipv6 { 22..54 } else { 26..34 };
    out[addresses.clone()].copy_from_slice(&leaves[addresses]);
    out[14 + header..][..4].copy_from_slice(&leaves[14 + header..][..4]);
    Some(out)
}

/// Clears the checksums, which are verified elsewhere.
fn bare(mut frame: Vec<u8>, talk: &Talk) -> Vec<u8> {
    if !talk.between.ipv6 {
        assert_eq!(checksum(&frame[14..34]), 0, "{frame:x?}");
        frame[24..26].fill(0);
    }
    let upper = if talk.between.ipv6 { 54 } else { 34 };
    let at = upper + if talk.protocol == TCP { 16 } else { 6 };
    frame[at..at + 2].fill(0);
    frame
}

#[test]
fn a_damaged_packet_of_a_connection_is_forwarded_only_if_a_router_would() {
    in_namespace_as_root(|| {
        let Some(mut bed) = Bed::new() else { return };
        let mut rng = machine::Rng::seeded(0x5eed);
        let mut forwarded = 0;
        for (talk, token) in talks().into_iter().zip(1..) {
            let after = talk.translated();
            bed.learn_talk(&talk, token, Some(rewrite(&talk, &after)));
            for _ in 0..2_000 {
                let mut frame = talk.frame();
                for _ in 0..rng.below(3) {
                    let at = rng.below(frame.len() as u64) as usize;
                    frame[at] ^= 1 << rng.below(8);
                }
                if rng.below(8) == 0 {
                    let len = 14 + rng.below(frame.len() as u64 - 13);
                    frame.truncate(len as usize);
                }
                let Some(expected) = goes(&frame, &talk, &after) else {
                    bed.is_asked(&[frame]);
                    continue;
                };
                send(&mut bed.left, &mut bed.pool, &[frame]);
                let came = receive_bytes(&mut bed.right, &mut bed.pool, 1).remove(0);
                let mut expected = expected;
                if !talk.between.ipv6 {
                    expected[24..26].fill(0);
                    let sum = checksum(&expected[14..34]);
                    expected[24..26].copy_from_slice(&sum.to_be_bytes());
                }
                assert_eq!(bare(came, &talk), bare(expected, &talk));
                forwarded += 1;
            }
        }

        // Only the payload was damaged, or nothing.
        assert!(forwarded > 2_500, "{forwarded}");
    });
}
