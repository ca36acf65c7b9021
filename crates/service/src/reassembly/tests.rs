//! Reassembly, sentence by sentence, and against a model.

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::Rng;
use wire::{Protocol, ipv4, ipv6};

use super::*;

const SRC: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const DST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SRC6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const DST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

struct Desk {
    machine: Reassembly<char>,
    now: Instant,
}

impl Desk {
    fn new(config: Config) -> Self {
        let machine = Reassembly::new(config);
        let now = Instant::from_secs(9);
        Self { machine, now }
    }

    fn hear(&mut self, packet: &[u8], tag: char) -> Vec<Action<char>> {
        self.hear_in(packet, 0, tag)
    }

    fn hear_in(&mut self, packet: &[u8], zone: u32, tag: char) -> Vec<Action<char>> {
        let mut out = Vec::new();
        let event = Event::Fragment { packet, zone, tag };
        self.machine.handle(event, self.now, &mut out);
        out
    }

    fn pass(&mut self, span: Duration) -> Vec<Action<char>> {
        self.now += span;
        let mut out = Vec::new();
        self.machine.tick(self.now, &mut out);
        out
    }
}

/// A piece in IPv4 of the packet `id`, with these ECN bits.
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

/// A piece in IPv6 of the packet `id`, behind destination options.
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

fn whole(packet: Vec<u8>, tag: char) -> Vec<Action<char>> {
    vec![Action::Whole { packet, tag }]
}

#[test]
fn pieces_make_the_packet_in_whatever_order_they_come() {
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
        let mut desk4 = Desk::new(Config::V4);
        let mut desk6 = Desk::new(Config::V6);
        let (mut out4, mut out6) = (Vec::new(), Vec::new());
        for n in order {
            let (from, to) = pieces[n];
            let (offset, more, tag) = (from as u16, to < 40, char::from(b'a' + n as u8));
            out4.extend(desk4.hear(&v4(5, offset, more, &data[from..to], 0), tag));
            out6.extend(desk6.hear(&v6(5, offset, more, &data[from..to]), tag));
        }

        assert_eq!(out4, whole(v4_whole(5, &data, 0), 'a'), "{order:?}");
        assert_eq!(out6, whole(v6_whole(&data), 'a'), "{order:?}");
        assert!(desk4.machine.is_empty() && desk6.machine.is_empty());
        assert_eq!(
            (desk4.machine.used_bytes(), desk6.machine.used_bytes()),
            (0, 0)
        );
    }
}

#[test]
fn the_header_is_the_first_pieces_with_its_options() {
    let header = ipv4::Repr {
        id: 5,
        fragment: ipv4::Fragment::piece(0, true),
        ..ipv4::Repr::new(Protocol::UDP, SRC, DST)
    };
    let mut first = Vec::new();
    header.emit(&[7, 3, 4], 8, &mut first);
    first.extend_from_slice(&[1; 8]);
    let mut desk = Desk::new(Config::V4);

    desk.hear(&first, 'a');
    let out = desk.hear(&v4(5, 8, false, &[2; 3], 0), 'b');

    let [Action::Whole { packet, .. }] = &out[..] else {
        panic!("{out:?}");
    };
    let ip = ipv4::Packet::new_verified(packet).unwrap();
    assert_eq!(ip.options()[..3], [7, 3, 4]);
    assert_eq!(ip.payload(), [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    assert!(!ip.fragment().is_piece());
}

#[test]
fn pieces_of_different_packets_never_meet() {
    let mut desk = Desk::new(Config::V4);
    desk.hear(&v4(5, 0, true, &[0; 8], 0), 'a');
    let other_protocol = {
        let mut packet = v4(5, 8, false, &[0; 8], 0);
        packet[9] = Protocol::TCP.0;
        packet
    };

    assert_eq!(desk.hear(&v4(6, 8, false, &[0; 8], 0), 'a'), []);
    assert_eq!(desk.hear(&other_protocol, 'a'), []);
    assert_eq!(desk.hear_in(&v4(5, 8, false, &[0; 8], 0), 1, 'a'), []);
    assert_eq!(desk.machine.len(), 4);
}

#[test]
fn a_piece_that_comes_twice_is_ignored() {
    // RFC 8200, 4.5, last paragraph.
    let mut desk = Desk::new(Config::V6);
    let first = v6(5, 0, true, &[1; 8]);

    desk.hear(&first, 'a');
    desk.hear(&first, 'b');
    let out = desk.hear(&v6(5, 8, false, &[2; 8]), 'c');

    assert_eq!(desk.machine.counters().duplicates, 1);
    assert!(matches!(out[..], [Action::Whole { tag: 'a', .. }]));
}

#[test]
fn pieces_that_overlap_discard_the_packet() {
    // RFC 5722, 4. Each case: offset, more, length of the piece that follows (8, more, 16).
    let cases = [
        (0, true, 16),
        (16, true, 16),
        (8, true, 8),
        (16, false, 4),
        (0, true, 32),
    ];
    for (offset, more, len) in cases {
        let mut desk = Desk::new(Config::V6);
        desk.hear(&v6(5, 8, true, &[1; 16]), 'a');

        desk.hear(&v6(5, offset, more, &vec![2; len]), 'a');

        assert_eq!(desk.machine.counters().overlaps, 1, "{offset} {len}");
        // What comes later is discarded as well, whatever it would complete.
        desk.hear(&v6(5, 0, true, &[1; 24]), 'a');
        assert_eq!(desk.hear(&v6(5, 24, false, &[1; 8]), 'a'), []);
        assert_eq!(desk.pass(Duration::from_secs(60)), [], "and nobody is told");
        assert!(desk.machine.is_empty());
    }
}

#[test]
fn the_same_place_with_other_bytes_is_an_overlap() {
    let mut desk = Desk::new(Config::V4);
    desk.hear(&v4(5, 0, true, &[1; 8], 0), 'a');
    desk.hear(&v4(5, 0, true, &[2; 8], 0), 'a');

    assert_eq!(desk.machine.counters().overlaps, 1);
    // In IPv4 the next packet with this identification is innocent.
    desk.hear(&v4(5, 0, true, &[3; 8], 0), 'a');
    let out = desk.hear(&v4(5, 8, false, &[3; 8], 0), 'a');
    assert_eq!(out, whole(v4_whole(5, &[3; 16], 0), 'a'));
}

#[test]
fn two_ends_contradict_each_other() {
    for (offset, more, len) in [(16, false, 8), (16, true, 8)] {
        let mut desk = Desk::new(Config::V4);
        desk.hear(&v4(5, 8, false, &[1; 8], 0), 'a');

        desk.hear(&v4(5, offset, more, &vec![1; len], 0), 'a');

        assert_eq!(desk.machine.counters().overlaps, 1, "{offset} {more}");
    }
}

#[test]
fn an_end_before_what_is_here_contradicts_it() {
    let mut desk = Desk::new(Config::V4);
    desk.hear(&v4(5, 64, true, &[1; 8], 0), 'a');

    desk.hear(&v4(5, 8, false, &[1; 8], 0), 'a');

    assert_eq!(desk.machine.counters().overlaps, 1);
}

#[test]
fn time_exceeded_is_owed_only_if_the_first_piece_is_here() {
    // RFC 1122, 3.3.2; RFC 8200, 4.5.
    let first4 = v4(5, 0, true, &[1; 8], 0);
    let first6 = v6(5, 0, true, &[1; 8]);
    for (config, first, seconds) in [(Config::V4, first4, 30), (Config::V6, first6, 60)] {
        let mut desk = Desk::new(config);
        desk.hear(&first, 'a');
        desk.hear(&v4(6, 8, true, &[1; 8], 0), 'b');

        assert_eq!(desk.pass(Duration::from_secs(seconds - 1)), []);
        let out = desk.pass(Duration::from_secs(1));

        assert_eq!(out, [Action::TimedOut { first, tag: 'a' }]);
        assert_eq!(desk.machine.counters().timed_out, 2);
        assert!(desk.machine.is_empty());
    }
}

#[test]
fn time_begins_with_the_first_piece_that_arrives() {
    let mut desk = Desk::new(Config::V4);
    desk.hear(&v4(5, 0, true, &[1; 8], 0), 'a');
    desk.pass(Duration::from_secs(29));
    desk.hear(&v4(5, 16, true, &[1; 8], 0), 'a');

    assert_eq!(desk.pass(Duration::from_secs(1)).len(), 1);
}

#[test]
fn ragged_and_endless_pieces_are_problems_in_ipv6() {
    // RFC 8200, 4.5.
    let mut desk = Desk::new(Config::V6);
    let ragged = v6(5, 0, true, &[1; 9]);
    let endless = v6(5, 65_528, false, &[1; 9]);

    let expect = |packet: &[u8], pointer| {
        let packet = packet.to_vec();
        [Action::ParameterProblem {
            packet,
            pointer,
            tag: 'a',
        }]
    };
    assert_eq!(desk.hear(&ragged, 'a'), expect(&ragged, 4));
    assert_eq!(desk.hear(&endless, 'a'), expect(&endless, 50));
    assert!(desk.machine.is_empty());
}

#[test]
fn ragged_endless_and_empty_pieces_are_dropped_in_ipv4() {
    let mut desk = Desk::new(Config::V4);

    desk.hear(&v4(5, 0, true, &[1; 9], 0), 'a');
    desk.hear(&v4(5, 65_512, false, &[1; 9], 0), 'a');
    desk.hear(&v4(5, 8, true, &[], 0), 'a');

    assert_eq!(desk.machine.counters().malformed, 3);
    assert!(desk.machine.is_empty());
}

#[test]
fn the_longest_packet_can_be_put_together() {
    let mut desk = Desk::new(Config::V4);
    let data = data(65_515);

    desk.hear(&v4(5, 0, true, &data[..65_512], 0), 'a');
    let out = desk.hear(&v4(5, 65_512, false, &data[65_512..], 0), 'a');

    assert_eq!(out, whole(v4_whole(5, &data, 0), 'a'));
}

#[test]
fn a_packet_whose_headers_make_it_too_long_is_dropped() {
    let mut desk = Desk::new(Config::V6);
    let data = data(65_535);

    desk.hear(&v6(5, 0, true, &data[..65_504]), 'a');
    let out = desk.hear(&v6(5, 65_504, false, &data[65_504..]), 'a');

    assert_eq!(out, []);
    assert_eq!(desk.machine.counters().malformed, 1);
    assert!(desk.machine.is_empty());
}

#[test]
fn an_atomic_fragment_is_whole_and_meets_no_others() {
    // RFC 6946, 4.
    let mut desk = Desk::new(Config::V6);
    desk.hear(&v6(5, 8, true, &[1; 8]), 'a');

    let out = desk.hear(&v6(5, 0, false, &[2; 9]), 'b');

    assert_eq!(out, whole(v6_whole(&[2; 9]), 'b'));
    assert_eq!(desk.machine.len(), 1);
}

#[test]
fn a_first_piece_that_hides_its_headers_is_dropped() {
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
    let mut desk = Desk::new(Config::V6);

    desk.hear(&packet, 'a');

    assert_eq!(desk.machine.counters().malformed, 1);
    assert!(desk.machine.is_empty());
}

#[test]
fn a_congestion_mark_on_one_piece_is_one_on_the_packet() {
    // RFC 3168, 5.3.
    let joined = |first, second| {
        let mut desk = Desk::new(Config::V4);
        desk.hear(&v4(5, 0, true, &[1; 8], first), 'a');
        desk.hear(&v4(5, 8, false, &[1; 8], second), 'a')
    };

    assert_eq!(joined(2, 3), whole(v4_whole(5, &[1; 16], 3), 'a'));
    assert_eq!(joined(2, 2), whole(v4_whole(5, &[1; 16], 2), 'a'));
    assert_eq!(joined(0, 3), [], "a mark where none can be");
}

#[test]
fn a_flood_of_pieces_stays_within_its_memory_and_the_newest_packet_survives() {
    for piece in [8, 1_480] {
        let config = Config {
            memory_max_bytes: 1 << 20,
            packets_max: 500,
            ..Config::V4
        };
        let mut desk = Desk::new(config);
        for id in 0..20_000 {
            desk.hear(&v4(id, 8, true, &vec![1; piece], 0), 'a');
            assert!(desk.machine.used_bytes() <= 1 << 20);
            assert!(desk.machine.len() <= 500);
        }
        desk.hear(&v4(60_000, 0, true, &[1; 8], 0), 'a');

        let out = desk.hear(&v4(60_000, 8, false, &[1; 8], 0), 'a');

        assert_eq!(out, whole(v4_whole(60_000, &[1; 16], 0), 'a'));
        assert!(desk.machine.counters().evicted >= 19_000);
    }
}

#[test]
fn what_is_put_together_is_what_was_taken_apart() {
    // Many packets at once, their pieces shuffled, some lost, some twice.
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

        let mut desk = Desk::new(Config::V4);
        let mut found = vec![false; 20];
        for piece in &line {
            for action in desk.hear(piece, 'a') {
                let Action::Whole { packet, .. } = action else {
                    panic!("seed {seed}: {action:?}");
                };
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

/// Pieces of random sizes. A packet of one piece is none.
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
fn noise_never_panics_and_is_forgotten() {
    for seed in 0..2_000 {
        let mut rng = Rng::seeded(seed);
        let mut desk = Desk::new(Config::V6);
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
        assert_eq!(
            (desk.machine.len(), desk.machine.used_bytes()),
            (0, 0),
            "seed {seed}"
        );
    }
}

#[test]
fn a_second_end_within_the_packet_contradicts_the_first() {
    let mut desk = Desk::new(Config::V4);
    desk.hear(&v4(5, 64, false, &[1; 8], 0), 'a');

    desk.hear(&v4(5, 8, false, &[1; 8], 0), 'a');

    assert_eq!(desk.machine.counters().overlaps, 1);
}
