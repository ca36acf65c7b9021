//! Checks that the fast path changes a connection exactly as tracking does.

use machine::Rng;
use packet::{Fields, Tuple, protocol};
use proptest::prelude::*;

use super::support::{ACK, Bed, FIN, PSH, RST, SYN, Tcp, plain, tcp, tuple4, tuple6};
use crate::connection::*;

/// One side of a conversation, as its segments are generated.
#[derive(Clone, Copy)]
struct Side {
    next: u32,
    acked: u32,
}

/// Sends a packet to both trackers: one tracks it, the other uses the fast path if possible. Returns true if
/// the fast path was used.
fn show(tracks: &mut Bed, passes: &mut Bed, packet: &[u8]) -> bool {
    let fields = Fields::of(packet);
    let (len, now) = (fields.len, passes.now);
    let way = passes.tracker.lookup(&fields.tuple);
    let passed = way.and_then(|way| {
        let tracker = &mut passes.tracker;
        match (fields.tuple.protocol, fields.tuple.ipv6) {
            (protocol::TCP, true) => tracker.pass_segment::<true>(way, packet, len, now),
            (protocol::TCP, false) => tracker.pass_segment::<false>(way, packet, len, now),
            (_, true) => tracker.pass::<true>(way, len, now),
            (_, false) => tracker.pass::<false>(way, len, now),
        }
    });
    let right = tracks.show(packet);
    match passed {
        Some(passed) => {
            assert_eq!((right.state, right.nat), (State::Established, passed.nat));
            assert_eq!(right.way, way);
        }
        None => assert_eq!(passes.show(packet), right),
    }
    passed.is_some()
}

/// Returns a segment that is mostly regular; unless `calm`, some segments are irregular.
fn segment(sides: &mut [Side; 2], from: usize, calm: bool, rng: &mut Rng) -> Tcp {
    let other = sides[1 - from];
    let side = &mut sides[from];
    let odd = |rng: &mut Rng, percent| !calm && rng.percent(percent);
    let data = [0, 0, 1, 700, 1400][rng.below(5) as usize];
    let back = match (odd(rng, 20), odd(rng, 10)) {
        (true, _) => rng.below(5_000) as u32,
        (_, true) => 0_u32.wrapping_sub(rng.below(100_000) as u32),
        _ => 0,
    };
    let seq = side.next.wrapping_sub(back);
    if back == 0 {
        side.next = seq.wrapping_add(data as u32);
    }
    if rng.percent(70) {
        side.acked = other.next;
    }
    let begins_or_ends = [FIN | ACK, SYN, RST, RST | ACK, SYN | ACK, 0];
    Tcp {
        flags: match odd(rng, 3) {
            true => begins_or_ends[rng.below(6) as usize],
            false => [ACK, ACK | PSH][rng.below(2) as usize],
        },
        seq,
        ack: side
            .acked
            .wrapping_add(if odd(rng, 3) { 70_000 } else { 0 }),
        window: match odd(rng, 10) {
            true => [0, 1, 500][rng.below(3) as usize],
            false => u16::MAX,
        },
        scale: None,
        data,
    }
}

fn handshake(tracks: &mut Bed, passes: &mut Bed, tuple: &Tuple) -> [Side; 2] {
    let reversed = tuple.reversed();
    let (one, other) = (u32::MAX - 3_000, 900);
    let opening = |flags, seq, ack, scale| Tcp {
        flags,
        seq,
        ack,
        window: 60_000,
        scale,
        data: 0,
    };
    for (tuple, segment) in [
        (tuple, opening(SYN, one - 1, 0, Some(2))),
        (&reversed, opening(SYN | ACK, other - 1, one, Some(7))),
        (tuple, opening(ACK, one, other, None)),
    ] {
        show(tracks, passes, &tcp(tuple, &segment));
    }
    let side = |next, acked| Side { next, acked };
    [side(one, other), side(other, one)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn fast_path_segments_update_the_connection_as_tracking_does(seed: u64, ipv6: bool) {
        let settings = Settings::default();
        let (mut tracks, mut passes) = (Bed::new(&settings), Bed::new(&settings));
        let mut rng = Rng::seeded(seed);
        let tuple = match ipv6 {
            true => tuple6(1, protocol::TCP),
            false => tuple4(1, protocol::TCP),
        };
        let mut sides = handshake(&mut tracks, &mut passes, &tuple);
        let mut passed = 0;
        for round in 0..300 {
            let from = rng.below(2) as usize;
            // Irregular segments may end the connection, so the first rounds have none.
            let calm = round < 20;
            let sender = if from == 0 { tuple } else { tuple.reversed() };
            let packet = tcp(&sender, &segment(&mut sides, from, calm, &mut rng));
            passed += u32::from(show(&mut tracks, &mut passes, &packet));
            let rows = [tracks.row(&tuple), passes.row(&tuple)];
            prop_assert_eq!(rows[0], rows[1]);
            if rng.percent(5) {
                let secs = 1 + rng.below(3) as u32;
                tracks.wait(secs);
                passes.wait(secs);
            }
        }
        prop_assert!(passed >= 20, "{passed} passed");
    }

    #[test]
    fn fast_path_datagrams_update_the_connection_as_tracking_does(seed: u64, ipv6: bool) {
        let settings = Settings::default();
        let (mut tracks, mut passes) = (Bed::new(&settings), Bed::new(&settings));
        let mut rng = Rng::seeded(seed);
        let tuple = match ipv6 {
            true => tuple6(1, protocol::UDP),
            false => tuple4(1, protocol::UDP),
        };
        let mut passed = 0;
        for _ in 0..100 {
            let sender = if rng.percent(50) { tuple } else { tuple.reversed() };
            let packet = plain(&sender, rng.below(1_000) as usize);
            passed += u32::from(show(&mut tracks, &mut passes, &packet));
            let rows = [tracks.row(&tuple), passes.row(&tuple)];
            prop_assert_eq!(rows[0], rows[1]);
            if rng.percent(5) {
                tracks.wait(2);
                passes.wait(2);
            }
        }
        prop_assert!(passed > 20, "{passed} passed");
    }
}
