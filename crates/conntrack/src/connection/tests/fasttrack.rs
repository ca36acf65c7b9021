//! Tests of TCP connections with FastTrack: which segments end them, and which cannot.

use machine::Rng;
use packet::{Fields, Tuple, protocol};
use proptest::prelude::*;

use super::support::{ACK, Bed, FIN, RST, SYN, Tcp, tcp, tuple4, tuple6};
use crate::connection::*;

const DAY: u32 = 86_400;

/// A connection with FastTrack, and the next sequence numbers of its ends.
struct Flow {
    bed: Bed,
    tuple: Tuple,
    way: FlowId,
    next: [u32; 2],
}

impl Flow {
    fn open(tuple: Tuple, first: [u32; 2]) -> Self {
        let mut bed = Bed::new(&Settings::default());
        let next = first.map(|first| first.wrapping_add(1));
        let steps = [
            (false, SYN, first[0], 0),
            (true, SYN | ACK, first[1], next[0]),
            (false, ACK, next[0], next[1]),
        ];
        for (reply, flags, seq, ack) in steps {
            bed.show(&segment(&tuple, reply, flags, (seq, ack), 0));
        }
        let way = bed.tracker.lookup(&tuple).expect("entered");
        bed.tracker.fasttrack(way);
        Self {
            bed,
            tuple,
            way,
            next,
        }
    }

    /// Sends a segment by FastTrack if possible.
    fn show(&mut self, reply: bool, flags: u8, numbers: (u32, u32), data: usize) {
        let packet = segment(&self.tuple, reply, flags, numbers, data);
        let fast = match flags {
            ACK => self.bed.tracker.fast(FlowId::new(self.way.slot(), reply)),
            _ => None,
        };
        let len = Fields::of(&packet).len;
        if !fast.is_some_and(|fast| fast.assured && fast.count(len, self.bed.now)) {
            self.bed.show(&packet);
        }
    }

    /// Sends the next segment of an end.
    fn say(&mut self, reply: bool, flags: u8, data: usize) {
        let side = usize::from(reply);
        let numbers = (self.next[side], self.next[1 - side]);
        self.show(reply, flags, numbers, data);
        let spans = data as u32 + u32::from(flags & FIN != 0);
        self.next[side] = numbers.0.wrapping_add(spans);
    }

    /// Advances an end by data that the tracker does not see.
    fn skip(&mut self, reply: bool, data: u32) {
        let next = &mut self.next[usize::from(reply)];
        *next = next.wrapping_add(data);
    }

    fn life(&self) -> Option<(TcpState, u32)> {
        let row = self.bed.row(&self.tuple)?;
        Some((row.tcp_state, row.timeout_secs))
    }

    fn is_untouched(&self) -> bool {
        self.life() == Some((TcpState::Established, DAY))
    }

    /// Both ends exchange bursts of data for some seconds.
    fn talk(&mut self, rng: &mut Rng, secs: u32) {
        for _ in 0..secs {
            for _ in 0..rng.below(4) {
                let reply = rng.below(2) == 1;
                for _ in 0..rng.below(20) {
                    self.say(reply, ACK, rng.below(1_400) as usize);
                    self.say(!reply, ACK, 0);
                }
            }
            self.bed.wait(1);
        }
    }
}

fn segment(tuple: &Tuple, reply: bool, flags: u8, numbers: (u32, u32), data: usize) -> Vec<u8> {
    let tuple = if reply { tuple.reversed() } else { *tuple };
    let (seq, ack) = numbers;
    let segment = Tcp {
        flags,
        seq,
        ack,
        window: 60_000,
        data,
        ..Tcp::default()
    };
    tcp(&tuple, &segment)
}

fn tuples() -> impl Strategy<Value = Tuple> {
    prop_oneof![
        Just(tuple4(1, protocol::TCP)),
        Just(tuple6(1, protocol::TCP))
    ]
}

/// One in 2^16 random pairs of numbers passes (`tcp::fast`). The seeds are fixed; none of their 12,800 pairs
/// does.
#[test]
fn a_forged_end_does_not_shorten_the_timeout() {
    for seed in 0..64 {
        let mut rng = Rng::seeded(seed);
        let protocol = protocol::TCP;
        let tuple = if seed % 2 == 0 {
            tuple4(1, protocol)
        } else {
            tuple6(1, protocol)
        };
        let mut flow = Flow::open(tuple, [rng.next_u32(), rng.next_u32()]);
        flow.talk(&mut rng, 5);
        // Closer numbers would count as guessed correctly.
        let far = |rng: &mut Rng, at: u32| {
            at.wrapping_add(1 << 20)
                .wrapping_add(rng.below((1 << 32) - (1 << 21)) as u32)
        };
        for _ in 0..200 {
            let (flags, reply) = (
                [FIN | ACK, RST, RST | ACK][rng.below(3) as usize],
                rng.below(2) == 1,
            );
            let side = usize::from(reply);
            let numbers = (
                far(&mut rng, flow.next[side]),
                far(&mut rng, flow.next[1 - side]),
            );
            flow.show(reply, flags, numbers, 0);
            assert!(flow.is_untouched(), "seed {seed}: {:?}", flow.life());
        }

        flow.bed.wait(3_600);
        flow.say(true, ACK, 1_000);
        assert!(flow.is_untouched(), "seed {seed}: {:?}", flow.life());
        // The connection ends when both ends close it.
        flow.say(true, FIN | ACK, 0);
        flow.say(false, FIN | ACK, 0);
        flow.say(true, ACK, 0);
        flow.bed.wait(60);
        assert_eq!(flow.life(), None, "seed {seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn connections_closed_by_their_ends_expire(
        tuple in tuples(), first: [u32; 2], seed: u64, reply: bool, aborts in 0..3_usize,
    ) {
        let mut rng = Rng::seeded(seed);
        let mut flow = Flow::open(tuple, first);
        let secs = 1 + rng.below(20) as u32;
        flow.talk(&mut rng, secs);
        prop_assert!(flow.is_untouched());
        match aborts {
            0 => flow.say(reply, RST | ACK, 0),
            1 => flow.say(reply, RST, 0),
            _ => {
                flow.say(reply, FIN | ACK, 100);
                flow.say(!reply, ACK, 0);
                flow.say(!reply, FIN | ACK, 0);
                flow.say(reply, ACK, 0);
            }
        }

        prop_assert!(!flow.is_untouched());
        flow.bed.wait(60);
        prop_assert_eq!(flow.life(), None);
    }
}

/// A shortcut reports its traffic late, and maybe as one sum of gigabytes.
#[test]
fn an_unverifiable_end_counts_once_the_other_side_confirms_it() {
    let mut flow = Flow::open(tuple4(1, protocol::TCP), [7, 0xffff_fff0]);
    flow.skip(true, 3_000_000_000);
    flow.say(true, FIN | ACK, 0);
    assert!(flow.is_untouched());
    // The acknowledgement number is wrong.
    flow.show(false, FIN | ACK, (flow.next[0], flow.next[1] - 1), 0);
    assert!(flow.is_untouched());
    flow.say(false, FIN | ACK, 0);
    assert_eq!(flow.life().map(|life| life.0), Some(TcpState::LastAck));
    flow.bed.wait(60);
    assert_eq!(flow.life(), None);

    let mut flow = Flow::open(tuple4(1, protocol::TCP), [7, 0xffff_fff0]);
    flow.skip(true, 3_000_000_000);
    flow.say(true, RST | ACK, 0);
    assert!(flow.is_untouched());
    flow.bed.wait(1);
    flow.say(false, ACK, 0);
    assert_eq!(flow.life().map(|life| life.0), Some(TcpState::Close));
}

/// Shortcuts report their traffic once a second.
#[test]
fn an_end_ahead_of_the_reported_shortcut_state_counts() {
    for flags in [FIN | ACK, RST | ACK] {
        let mut flow = Flow::open(tuple4(1, protocol::TCP), [7, 0xffff_fff0]);
        let ways = [false, true].map(|reply| FlowId::new(flow.way.slot(), reply));
        let tokens = ways.map(|way| flow.bed.tracker.shorten(way).expect("long-lived"));
        for _ in 0..3 {
            flow.bed.wait(1);
            for (token, (packets, data)) in tokens.into_iter().zip([(5_000, 0), (10_000, 1_400)]) {
                flow.skip(data > 0, packets * data);
                let (packets, bytes) = (u64::from(packets), u64::from(packets * (data + 52)));
                let gathered = frame::shortcut::ConnectionTraffic {
                    token,
                    packets,
                    bytes,
                };
                assert!(flow.bed.tracker.gather(&gathered, flow.bed.now));
            }
        }
        flow.skip(true, 14_000_000);
        flow.say(true, flags, 0);
        assert!(!flow.is_untouched());
    }
}

#[test]
fn a_reset_after_an_out_of_window_segment_is_ignored() {
    let mut flow = Flow::open(tuple4(1, protocol::TCP), [0, 0]);
    flow.bed.wait(1);
    flow.show(true, ACK, (1 << 30, 1), 100);
    flow.show(true, RST | ACK, ((1 << 30) + 100, 1), 0);
    flow.show(true, RST, ((1 << 30) + 100, 0), 0);

    assert!(flow.is_untouched());
}

#[test]
fn fasttrack_counts_slow_packets_beside_fast_ones() {
    let mut flow = Flow::open(tuple4(1, protocol::TCP), [0, 0]);
    flow.say(false, ACK, 1_000);
    flow.show(true, FIN | ACK, (1 << 30, 1 << 29), 0);
    let row = flow.bed.row(&flow.tuple).expect("entered");

    assert_eq!(row.directions[0].traffic.packets, 3);
    assert_eq!(row.directions[0].fasttrack.packets, 1);
    assert_eq!(row.directions[0].fasttrack.bytes, 1_040);
    assert_eq!(row.directions[1].fasttrack.packets, 0);
}
