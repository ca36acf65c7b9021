//! Tests of reassembly rule by rule, and comparison with a model.

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::Rng;
use wire::{Protocol, ipv4, ipv6};

use super::*;
use crate::{InterfaceId, Sizes};

const SRC: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const DST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SRC6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const DST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Link header before each packet; padding follows the packet.
const LINK: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
const PADDING: [u8; 5] = [0xee; 5];

/// A reassembled packet from its network header on, with the tag of its first fragment.
type Whole = (Vec<u8>, char);

struct Bench {
    machine: Reassembly<char>,
    pool: Pool,
    now: Instant,
    /// The dropped fragments, with tag and reason.
    lost: Vec<(Vec<u8>, char, Lost)>,
    /// Offload data of the last reassembled packet.
    offload: Offload,
}

impl Bench {
    fn new(config: Config) -> Self {
        let sizes = Sizes {
            small: 3_000,
            medium: 100,
            large: 8,
        };
        Self {
            machine: Reassembly::new(config),
            pool: Pool::new(sizes).expect("memory"),
            now: Instant::from_secs(9),
            lost: Vec::new(),
            offload: Offload::FINISHED,
        }
    }

    fn hear(&mut self, packet: &[u8], tag: char) -> Vec<Whole> {
        self.hear_by(InterfaceId(1), packet, tag)
    }

    fn hear_by(&mut self, ingress: InterfaceId, packet: &[u8], tag: char) -> Vec<Whole> {
        let bytes = [&LINK, packet, &PADDING].concat();
        let mut frame = self.pool.alloc_from(&bytes).expect("a slot");
        (frame.l3, frame.ingress) = (LINK.len() as u16, ingress);
        let whole = self.machine.collect(&mut self.pool, frame, tag, self.now);
        self.drain();
        let whole = whole.map(|(frame, tag)| {
            self.offload = frame.offload;
            assert_eq!(frame.bytes()[..LINK.len()], LINK);
            let packet = frame.bytes()[LINK.len()..].to_vec();
            self.pool.free(frame);
            (packet, tag)
        });
        whole.into_iter().collect()
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
        self.machine.expire(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        let before = self.lost.len();
        while let Some((frame, tag, why)) = self.machine.take_lost() {
            let packet = &frame.bytes()[LINK.len()..frame.len() - PADDING.len()];
            self.lost.push((packet.to_vec(), tag, why));
            self.pool.free(frame);
        }
        // Frames were dropped in reverse order.
        self.lost[before..].reverse();
    }

    /// Returns the number of fragments dropped for this reason.
    fn count(&self, why: Lost) -> usize {
        self.lost.iter().filter(|lost| lost.2 == why).count()
    }

    /// Returns true if nothing waits and all slots are free.
    fn is_clean(&mut self) -> bool {
        let free = [
            crate::Class::Small,
            crate::Class::Medium,
            crate::Class::Large,
        ];
        let free = free.map(|class| self.pool.available(class));
        self.machine.is_empty() && self.machine.used_bytes() == 0 && free == [3_000, 100, 8]
    }
}

/// Returns an IPv4 fragment of packet `id` with these ECN bits.
fn v4(id: u16, offset: u16, more: bool, data: &[u8], ecn: u8) -> Vec<u8> {
    let header = ipv4::Repr {
        tos: 0x40 | ecn,
        id,
        fragment: ipv4::Fragment::piece(offset, more),
        ..ipv4::Repr::new(Protocol::UDP, SRC, DST)
    };
    let mut bytes = header.to_bytes(data.len()).to_vec();
    bytes.extend_from_slice(data);
    bytes
}

fn v4_whole(id: u16, data: &[u8], ecn: u8) -> Vec<u8> {
    v4(id, 0, false, data, ecn)
}

/// Returns an IPv6 fragment of packet `id`, after a destination options header.
fn v6(id: u32, offset: u16, more: bool, data: &[u8]) -> Vec<u8> {
    let fragment = ipv6::Fragment {
        next_header: Protocol::UDP,
        offset,
        more,
        id,
    };
    let options = [Protocol::FRAGMENT.0, 0, 1, 4, 0, 0, 0, 0];
    let payload = [&options[..], &fragment.to_bytes(), data].concat();
    let header = ipv6::Repr::new(Protocol::DESTINATION, SRC6, DST6);
    [&header.to_bytes(payload.len())[..], &payload].concat()
}

fn v6_whole(data: &[u8]) -> Vec<u8> {
    let options = [Protocol::UDP.0, 0, 1, 4, 0, 0, 0, 0];
    let payload = [&options[..], data].concat();
    let header = ipv6::Repr::new(Protocol::DESTINATION, SRC6, DST6);
    [&header.to_bytes(payload.len())[..], &payload].concat()
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7) as u8).collect()
}

fn whole(packet: Vec<u8>, tag: char) -> Vec<Whole> {
    vec![(packet, tag)]
}

#[test]
fn fragments_reassemble_in_any_order() {
    let data = data(40);
    let pieces = [(0, 16), (16, 32), (32, 40)];
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        let mut desk4 = Bench::new(Config::V4);
        let mut desk6 = Bench::new(Config::V6);
        let (mut out4, mut out6) = (Vec::new(), Vec::new());
        for n in order {
            let (from, to) = pieces[n];
            let (offset, more, tag) = (from as u16, to < 40, char::from(b'a' + n as u8));
            out4.extend(desk4.hear(&v4(5, offset, more, &data[from..to], 0), tag));
            out6.extend(desk6.hear(&v6(5, offset, more, &data[from..to]), tag));
        }

        assert_eq!(out4, whole(v4_whole(5, &data, 0), 'a'), "{order:?}");
        assert_eq!(out6, whole(v6_whole(&data), 'a'), "{order:?}");
        assert!(desk4.is_clean() && desk6.is_clean());
    }
}

#[test]
fn the_header_and_options_come_from_the_first_fragment() {
    let header = ipv4::Repr {
        id: 5,
        fragment: ipv4::Fragment::piece(0, true),
        ..ipv4::Repr::new(Protocol::UDP, SRC, DST)
    };
    let mut first = Vec::new();
    header.emit(&[7, 3, 4], 8, &mut first);
    first.extend_from_slice(&[1; 8]);
    let mut desk = Bench::new(Config::V4);

    desk.hear(&first, 'a');
    let out = desk.hear(&v4(5, 8, false, &[2; 3], 0), 'b');

    let [(packet, _)] = &out[..] else {
        panic!("{out:?}");
    };
    let ip = ipv4::Packet::new_verified(packet).unwrap();
    assert_eq!(ip.options()[..3], [7, 3, 4]);
    assert_eq!(ip.payload(), [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    assert!(!ip.fragment().is_piece());
}

#[test]
fn fragments_of_different_packets_are_not_mixed() {
    let mut desk = Bench::new(Config::V4);
    desk.hear(&v4(5, 0, true, &[0; 8], 0), 'a');
    let other_protocol = {
        let mut packet = v4(5, 8, false, &[0; 8], 0);
        packet[9] = Protocol::TCP.0;
        packet
    };

    assert_eq!(desk.hear(&v4(6, 8, false, &[0; 8], 0), 'a'), []);
    assert_eq!(desk.hear(&other_protocol, 'a'), []);
    assert_eq!(desk.machine.len(), 3);
}

#[test]
fn link_local_fragments_are_keyed_by_link_and_global_ones_are_not() {
    let other = InterfaceId(2);
    for (first, meet) in [(0x20, true), (0xfe, false)] {
        let mut desk = Bench::new(Config::V6);
        let from = |mut packet: Vec<u8>| {
            packet[8..10].copy_from_slice(&[first, if meet { 1 } else { 0x80 }]);
            packet
        };
        desk.hear(&from(v6(5, 0, true, &[0; 8])), 'a');

        let out = desk.hear_by(other, &from(v6(5, 8, false, &[0; 8])), 'b');

        assert_eq!(out.len() == 1, meet);
    }
}

#[test]
fn a_duplicate_fragment_is_ignored() {
    // RFC 8200, 4.5, last paragraph.
    let mut desk = Bench::new(Config::V6);
    let first = v6(5, 0, true, &[1; 8]);

    desk.hear(&first, 'a');
    desk.hear(&first, 'b');
    let out = desk.hear(&v6(5, 8, false, &[2; 8]), 'c');

    assert_eq!(desk.lost, [(first, 'b', Lost::Duplicate)]);
    assert!(matches!(out[..], [(_, 'a')]));
}

#[test]
fn overlapping_fragments_discard_the_packet() {
    // RFC 5722, 4. Each case: offset, more-fragments flag and length of a fragment after (8, true, 16).
    let cases = [
        (0, true, 16),
        (16, true, 16),
        (8, true, 8),
        (16, false, 4),
        (0, true, 32),
    ];
    for (offset, more, len) in cases {
        let mut desk = Bench::new(Config::V6);
        desk.hear(&v6(5, 8, true, &[1; 16]), 'a');

        desk.hear(&v6(5, offset, more, &vec![2; len]), 'a');

        assert_eq!(desk.count(Lost::Overlap), 2, "{offset} {len}");
        // Later fragments are dropped as well, even if they would complete the packet.
        desk.hear(&v6(5, 0, true, &[1; 24]), 'a');
        assert_eq!(desk.hear(&v6(5, 24, false, &[1; 8]), 'a'), []);
        desk.pass(Duration::from_secs(60));
        assert_eq!(desk.count(Lost::Overlap), desk.lost.len(), "nobody is told");
        assert!(desk.is_clean());
    }
}

#[test]
fn a_duplicate_range_with_other_bytes_is_an_overlap() {
    let mut desk = Bench::new(Config::V4);
    desk.hear(&v4(5, 0, true, &[1; 8], 0), 'a');
    desk.hear(&v4(5, 0, true, &[2; 8], 0), 'a');

    assert_eq!(desk.count(Lost::Overlap), 2);
    // In IPv4 the next packet with this identification is not affected.
    desk.hear(&v4(5, 0, true, &[3; 8], 0), 'a');
    let out = desk.hear(&v4(5, 8, false, &[3; 8], 0), 'a');
    assert_eq!(out, whole(v4_whole(5, &[3; 16], 0), 'a'));
}

#[test]
fn two_different_ends_are_a_contradiction() {
    for (offset, more, len) in [(16, false, 8), (16, true, 8)] {
        let mut desk = Bench::new(Config::V4);
        desk.hear(&v4(5, 8, false, &[1; 8], 0), 'a');

        desk.hear(&v4(5, offset, more, &vec![1; len], 0), 'a');

        assert_eq!(desk.count(Lost::Overlap), 2, "{offset} {more}");
    }
}

#[test]
fn an_end_before_received_data_is_a_contradiction() {
    let mut desk = Bench::new(Config::V4);
    desk.hear(&v4(5, 64, true, &[1; 8], 0), 'a');

    desk.hear(&v4(5, 8, false, &[1; 8], 0), 'a');

    assert_eq!(desk.count(Lost::Overlap), 2);
}

#[test]
fn time_exceeded_requires_the_first_fragment() {
    // RFC 1122, 3.3.2; RFC 8200, 4.5.
    let first4 = v4(5, 0, true, &[1; 8], 0);
    let first6 = v6(5, 0, true, &[1; 8]);
    for (config, first, seconds) in [(Config::V4, first4, 30), (Config::V6, first6, 60)] {
        let mut desk = Bench::new(config);
        desk.hear(&first, 'a');
        desk.hear(&v4(6, 8, true, &[1; 8], 0), 'b');

        desk.pass(Duration::from_secs(seconds - 1));
        assert_eq!(desk.lost, []);
        assert_eq!(
            desk.machine.deadline(),
            Some(desk.now + Duration::from_secs(1))
        );
        desk.pass(Duration::from_secs(1));

        let [
            (packet, 'a', Lost::TimedOut { first: true }),
            (_, 'b', other),
        ] = &desk.lost[..]
        else {
            panic!("{:?}", desk.lost);
        };
        assert_eq!((packet, *other), (&first, Lost::TimedOut { first: false }));
        assert!(desk.is_clean());
    }
}

#[test]
fn the_timeout_starts_with_the_first_arrival() {
    let mut desk = Bench::new(Config::V4);
    desk.hear(&v4(5, 0, true, &[1; 8], 0), 'a');
    desk.pass(Duration::from_secs(29));
    desk.hear(&v4(5, 16, true, &[1; 8], 0), 'a');

    desk.pass(Duration::from_secs(1));

    assert_eq!(desk.lost.len(), 2);
}

#[test]
fn invalid_fragment_lengths_cause_parameter_problems_in_ipv6() {
    // RFC 8200, 4.5.
    let mut desk = Bench::new(Config::V6);
    let ragged = v6(5, 0, true, &[1; 9]);
    let endless = v6(5, 65_528, false, &[1; 9]);

    desk.hear(&ragged, 'a');
    desk.hear(&endless, 'b');

    let problem = |pointer| Lost::Problem { pointer };
    assert_eq!(
        desk.lost,
        [(ragged, 'a', problem(4)), (endless, 'b', problem(50))]
    );
    assert!(desk.is_clean());
}

#[test]
fn invalid_fragment_lengths_are_dropped_in_ipv4() {
    let mut desk = Bench::new(Config::V4);

    desk.hear(&v4(5, 0, true, &[1; 9], 0), 'a');
    desk.hear(&v4(5, 65_512, false, &[1; 9], 0), 'a');
    desk.hear(&v4(5, 8, true, &[], 0), 'a');

    assert_eq!(desk.count(Lost::Malformed), 3);
    assert!(desk.is_clean());
}

#[test]
fn the_longest_packet_is_reassembled() {
    let mut desk = Bench::new(Config::V4);
    let data = data(65_515);

    desk.hear(&v4(5, 0, true, &data[..65_512], 0), 'a');
    let out = desk.hear(&v4(5, 65_512, false, &data[65_512..], 0), 'a');

    assert_eq!(out, whole(v4_whole(5, &data, 0), 'a'));
}

#[test]
fn a_packet_whose_headers_make_it_too_long_is_dropped() {
    let mut desk = Bench::new(Config::V6);
    let data = data(65_535);

    desk.hear(&v6(5, 0, true, &data[..65_504]), 'a');
    let out = desk.hear(&v6(5, 65_504, false, &data[65_504..]), 'a');

    assert_eq!(out, []);
    assert_eq!(desk.count(Lost::Malformed), 2);
    assert!(desk.is_clean());
}

#[test]
fn an_atomic_fragment_is_processed_alone() {
    // RFC 6946, 4.
    let mut desk = Bench::new(Config::V6);
    desk.hear(&v6(5, 8, true, &[1; 8]), 'a');

    let out = desk.hear(&v6(5, 0, false, &[2; 9]), 'b');

    assert_eq!(out, whole(v6_whole(&[2; 9]), 'b'));
    assert_eq!(desk.machine.len(), 1);
}

#[test]
fn a_first_fragment_without_its_headers_is_dropped() {
    // RFC 7112, 5: the destination options go on in the next piece.
    let fragment = ipv6::Fragment {
        next_header: Protocol::DESTINATION,
        offset: 0,
        more: true,
        id: 5,
    };
    let payload = [
        &fragment.to_bytes()[..],
        &[Protocol::UDP.0, 9, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let header = ipv6::Repr::new(Protocol::FRAGMENT, SRC6, DST6);
    let packet = [&header.to_bytes(payload.len())[..], &payload].concat();
    let mut desk = Bench::new(Config::V6);

    desk.hear(&packet, 'a');

    assert_eq!(desk.count(Lost::Malformed), 1);
    assert!(desk.is_clean());
}

#[test]
fn a_congestion_mark_on_one_fragment_marks_the_packet() {
    // RFC 3168, 5.3.
    let joined = |first, second| {
        let mut desk = Bench::new(Config::V4);
        desk.hear(&v4(5, 0, true, &[1; 8], first), 'a');
        desk.hear(&v4(5, 8, false, &[1; 8], second), 'a')
    };

    assert_eq!(joined(2, 3), whole(v4_whole(5, &[1; 16], 3), 'a'));
    assert_eq!(joined(2, 2), whole(v4_whole(5, &[1; 16], 2), 'a'));
    assert_eq!(joined(0, 3), [], "a mark where none can be");
}

#[test]
fn a_fragment_flood_is_bounded_and_the_newest_packet_survives() {
    for piece in [8, 1_480] {
        let config = Config {
            memory_max_bytes: 1 << 20,
            packets_max: 500,
            ..Config::V4
        };
        let mut desk = Bench::new(config);
        for id in 0..20_000 {
            desk.hear(&v4(id, 8, true, &vec![1; piece], 0), 'a');
            assert!(desk.machine.used_bytes() <= 1 << 20);
            assert!(desk.machine.len() <= 500);
            // The memory accounting covers all used memory.
            let held = 3_000 - desk.pool.available(crate::Class::Small);
            assert!(held * crate::Class::Small.slot_bytes() <= 1 << 20);
        }
        desk.hear(&v4(60_000, 0, true, &[1; 8], 0), 'a');

        let out = desk.hear(&v4(60_000, 8, false, &[1; 8], 0), 'a');

        assert_eq!(out, whole(v4_whole(60_000, &[1; 16], 0), 'a'));
        assert!(desk.count(Lost::Full) >= 19_000);
    }
}

#[test]
fn reassembly_inverts_fragmentation() {
    // Many packets at once, with fragments shuffled, some lost and some duplicated.
    for seed in 0..300 {
        let mut rng = Rng::seeded(seed);
        let packets: Vec<Vec<u8>> = (0..20).map(|_| noise(&mut rng, 400)).collect();
        let mut line = Vec::new();
        let mut intact = vec![true; 20];
        for (id, packet) in packets.iter().enumerate() {
            for piece in taken_apart(id as u16, packet, &mut rng) {
                if rng.percent(3) {
                    intact[id] = false;
                    continue;
                }
                if rng.percent(5) {
                    line.push(piece.clone());
                }
                line.push(piece);
            }
        }
        for at in (1..line.len()).rev() {
            line.swap(at, rng.below(at as u64 + 1) as usize);
        }

        let mut desk = Bench::new(Config::V4);
        let mut found = vec![false; 20];
        for piece in &line {
            for (packet, _) in desk.hear(piece, 'a') {
                let ip = ipv4::Packet::new_verified(&packet).unwrap();
                let id = usize::from(ip.id());
                assert_eq!(ip.payload(), packets[id], "seed {seed}");
                found[id] = true;
            }
        }

        assert_eq!(found, intact, "seed {seed}");
    }
}

fn noise(rng: &mut Rng, len_max: u64) -> Vec<u8> {
    let mut bytes = vec![0; 1 + rng.below(len_max) as usize];
    rng.fill(&mut bytes);
    bytes
}

/// Splits a packet into fragments of random sizes.
fn taken_apart(id: u16, packet: &[u8], rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < packet.len() {
        let len = (8 * (1 + rng.below(6) as usize)).min(packet.len() - at);
        let more = at + len < packet.len();
        pieces.push(v4(id, at as u16, more, &packet[at..at + len], 0));
        at += len;
    }
    pieces
}

#[test]
fn random_fragments_never_panic_and_expire() {
    for seed in 0..2_000 {
        let mut rng = Rng::seeded(seed);
        let mut desk = Bench::new(Config::V6);
        for _ in 0..30 {
            let offset = 8 * rng.below(4) as u16;
            let mut packet = match rng.percent(50) {
                true => v4(1, offset, rng.percent(50), &[1; 16], 0),
                false => v6(1, offset, rng.percent(50), &[1; 16]),
            };
            for _ in 0..rng.below(3) {
                let at = rng.below(packet.len() as u64) as usize;
                packet[at] = rng.next_u32() as u8;
            }
            packet.truncate(rng.below(3 * packet.len() as u64) as usize);
            desk.hear(&packet, 'a');
        }
        desk.pass(Duration::from_secs(60));
        assert!(desk.is_clean(), "seed {seed}");
    }
}

#[test]
fn a_second_end_within_the_packet_is_a_contradiction() {
    let mut desk = Bench::new(Config::V4);
    desk.hear(&v4(5, 64, false, &[1; 8], 0), 'a');

    desk.hear(&v4(5, 8, false, &[1; 8], 0), 'a');

    assert_eq!(desk.count(Lost::Overlap), 2);
}

#[test]
fn a_reassembled_packet_knows_its_fragment_sizes() {
    // As in Linux: the don't-fragment flag, and the length of the longest fragment.
    let piece = |offset, more, len: usize, dont: bool| {
        let mut packet = v4(5, offset, more, &vec![1; len], 0);
        packet[6] |= if dont { 0x40 } else { 0 };
        packet
    };
    for (dont_first, dont_last, dont) in [(true, false, true), (false, true, false)] {
        let mut desk = Bench::new(Config::V4);
        desk.hear(&piece(0, true, 64, dont_first), 'a');

        let out = desk.hear(&piece(64, false, 8, dont_last), 'a');

        let ip = ipv4::Packet::new_checked(&out[0].0).unwrap();
        assert_eq!(ip.fragment().dont(), dont);
        assert_eq!(desk.offload.segmentation, Segmentation::Fragments);
        assert_eq!(desk.offload.segment_bytes, 84);
    }
}

#[test]
fn a_packet_with_too_many_fragments_is_dropped() {
    let mut desk = Bench::new(Config::V4);

    for at in 0..300 {
        desk.hear(&v4(5, 8 * at, true, &[1; 8], 0), 'a');
    }

    assert_eq!(desk.count(Lost::Full), PIECES_MAX);
    assert_eq!(
        desk.machine.len(),
        1,
        "what comes behind them begins another"
    );
    desk.machine.clear();
    desk.drain();
    assert!(desk.is_clean());
}

#[test]
fn a_reassembled_packet_without_a_slot_is_lost_as_no_buffer() {
    let mut desk = Bench::new(Config::V4);
    let taken: Vec<_> = core::iter::from_fn(|| desk.pool.alloc(60_000)).collect();
    let data = data(60_000);
    desk.hear(&v4(5, 0, true, &data[..8_000], 0), 'a');
    desk.hear(&v4(5, 8_000, true, &data[..16_000 - 8], 0), 'a');
    taken.into_iter().for_each(|frame| desk.pool.free(frame));
    let taken: Vec<_> = core::iter::from_fn(|| desk.pool.alloc(60_000)).collect();

    let out = desk.hear(&v4(5, 23_992, false, &data[..8_000], 0), 'a');

    assert_eq!((out, desk.count(Lost::NoBuffer)), (vec![], 3));
    taken.into_iter().for_each(|frame| desk.pool.free(frame));
    assert!(desk.is_clean());
}

#[test]
fn refragmentation_restores_the_received_fragments() {
    for len in [3_000, 9_001, 60_000] {
        let data = data(len);
        let mut desk = Bench::new(Config::V6);
        let mut out = Vec::new();
        for (number, part) in data.chunks(1_440).enumerate() {
            let offset = (number * 1_440) as u16;
            let more = usize::from(offset) + part.len() < len;
            out.extend(desk.hear(&v6(7, offset, more, part), 'a'));
        }
        let size = usize::from(desk.offload.segment_bytes);
        assert_eq!(size, 40 + 8 + 8 + 1_440);
        let mut whole = desk
            .pool
            .alloc_from(&[&LINK[..], &out[0].0].concat())
            .unwrap();
        whole.l3 = LINK.len() as u16;

        let mut pieces = Vec::new();
        crate::fragment6(&mut desk.pool, &whole, size, 9, &mut pieces).unwrap();

        // The destination options belong to the fragmentable part, which is 8 bytes longer.
        let mut again = Vec::new();
        for piece in &pieces {
            assert!(piece.len() - LINK.len() <= size);
            again.extend(desk.hear(&piece.bytes()[LINK.len()..], 'b'));
        }
        assert_eq!(again, [(out[0].0.clone(), 'b')]);
        for frame in pieces.into_iter().chain([whole]) {
            desk.pool.free(frame);
        }
        assert!(desk.is_clean());
    }
}

/// Model of a packet's fragments: the received bytes, and the known end.
#[derive(Default)]
struct Model {
    pieces: Vec<(u16, Vec<u8>)>,
    end: Option<usize>,
    poisoned: bool,
}

impl Model {
    /// Returns the reason for dropping the fragment, or the bytes of the packet if the fragment completes it.
    fn take(&mut self, offset: u16, more: bool, data: &[u8]) -> Result<Option<Vec<u8>>, Lost> {
        let (from, to) = (usize::from(offset), usize::from(offset) + data.len());
        if self.poisoned {
            return Err(Lost::Overlap);
        }
        if self.pieces.contains(&(offset, data.to_vec())) {
            return Err(Lost::Duplicate);
        }
        let mut bytes = vec![None; 512];
        for (at, piece) in &self.pieces {
            for (place, byte) in bytes[usize::from(*at)..].iter_mut().zip(piece) {
                *place = Some(*byte);
            }
        }
        let overlaps = bytes[from..to].iter().any(Option::is_some);
        let beyond = self.end.is_some_and(|end| to > end || !more && to < end);
        let before = !more && bytes[to..].iter().any(Option::is_some);
        if overlaps || beyond || before {
            self.poisoned = true;
            self.pieces.clear();
            return Err(Lost::Overlap);
        }
        for (place, byte) in bytes[from..to].iter_mut().zip(data) {
            *place = Some(*byte);
        }
        self.pieces.push((offset, data.to_vec()));
        self.end = self.end.or((!more).then_some(to));
        let whole = self
            .end
            .and_then(|end| bytes[..end].iter().copied().collect());
        if whole.is_some() {
            *self = Self::default();
        }
        Ok(whole)
    }
}

proptest::proptest! {
    #[test]
    fn fragments_in_any_order_reassemble_or_are_lost_by_reason(
        pieces in proptest::collection::vec((0..8_u16, 1..4_usize, 0..3_u8, 0..9_u8), 1..40),
    ) {
        let mut desk = Bench::new(Config::V6);
        let mut model = Model::default();
        for (at, words, last, content) in pieces {
            // Nearly always the correct bytes.
            let (from, to) = (usize::from(at) * 8, usize::from(at) * 8 + words * 8);
            let mut data = data(128)[from..to].to_vec();
            data[0] ^= u8::from(content == 0);
            // A fragment with offset 0 and without the more-fragments flag would be a whole packet.
            let more = last != 0 || at == 0;
            let held = desk.machine.used_bytes();

            let out = desk.hear(&v6(5, at * 8, more, &data), 'a');

            match model.take(at * 8, more, &data) {
                Ok(None) => {
                    proptest::prop_assert_eq!((out.len(), desk.lost.len()), (0, 0));
                    proptest::prop_assert!(desk.machine.used_bytes() > held);
                }
                Ok(Some(bytes)) => proptest::prop_assert_eq!(out, whole(v6_whole(&bytes), 'a')),
                Err(why) => {
                    proptest::prop_assert!(out.is_empty() && !desk.lost.is_empty());
                    proptest::prop_assert_eq!(desk.count(why), desk.lost.len());
                }
            }
            desk.lost.clear();
        }
        desk.pass(Duration::from_secs(60));
        proptest::prop_assert!(desk.is_clean());
    }
}
