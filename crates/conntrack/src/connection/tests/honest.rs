//! Two correct TCP ends on a lossy line: no segment that an end needs may be invalid, whatever is lost,
//! duplicated or reordered. Arbitrary packets must not make the tracker panic.

use machine::Rng;
use packet::{Fields, Tuple, protocol};
use proptest::prelude::*;

use super::support::{ACK, Bed, FIN, SYN, Tcp, plain, tcp, tuple4, tuple6};
use crate::connection::*;

/// A TCP end with go-back-N retransmission.
#[derive(Clone, Copy, Debug)]
struct End {
    /// The first unacknowledged sequence number, and the next to send.
    unacked: u32,
    next: u32,
    /// The next expected sequence number; later data is dropped.
    awaited: u32,
    /// End of the window that the other side allows.
    allowed: u32,
    scale: u8,
    synced: bool,
    heard: bool,
    /// Sequence number after the last byte, after close.
    fin: Option<u32>,
}

impl End {
    fn new(first: u32, scale: u8) -> Self {
        Self {
            unacked: first,
            next: first,
            awaited: 0,
            allowed: first.wrapping_add(1),
            scale,
            synced: false,
            heard: false,
            fin: None,
        }
    }

    fn segment(&self, seq: u32, data: u32, window: u32) -> Tcp {
        let closes = self.fin == Some(seq.wrapping_add(data));
        Tcp {
            flags: if closes { FIN | ACK } else { ACK },
            seq,
            ack: self.awaited,
            window: (window >> self.scale) as u16,
            data: data as usize,
            scale: None,
        }
    }

    /// Returns the next segment to send.
    fn send(&mut self, rng: &mut Rng, window: u32) -> Option<Tcp> {
        if !self.synced {
            let flags = if self.heard { SYN | ACK } else { SYN };
            self.next = self.unacked.wrapping_add(1);
            let ack = self.awaited;
            let scale = Some(self.scale);
            return Some(Tcp {
                flags,
                seq: self.unacked,
                ack,
                window: 8_000,
                scale,
                data: 0,
            });
        }
        let room = self.allowed.wrapping_sub(self.next) as i32;
        let sent = self.next.wrapping_sub(self.unacked);
        match rng.below(10) {
            0 if self.fin.is_none() && room > 0 => {
                self.fin = Some(self.next);
                self.next = self.next.wrapping_add(1);
                Some(self.segment(self.next.wrapping_sub(1), 0, window))
            }
            1..=5 if self.fin.is_none() && room > 0 => {
                let data = rng.below(room.min(1_460) as u64) as u32;
                self.next = self.next.wrapping_add(data);
                Some(self.segment(self.next.wrapping_sub(data), data, window))
            }
            6..=7 if sent > 0 => {
                let fin = u32::from(self.fin.is_some());
                let data = (rng.below(u64::from(sent)) as u32 + 1)
                    .min(1_460)
                    .min(sent - fin);
                Some(self.segment(self.unacked, data, window))
            }
            _ => Some(self.segment(self.next, 0, window)),
        }
    }

    /// Returns true if a segment has new data or a new acknowledgement for this end.
    fn needs(&self, segment: &Tcp) -> bool {
        let end = segment.seq.wrapping_add(segment.data as u32);
        let ahead = end.wrapping_sub(self.awaited) as i32 > 0;
        !self.heard || ahead || segment.ack.wrapping_sub(self.unacked) as i32 > 0
    }

    fn receive(&mut self, segment: &Tcp, other_scale: u8) {
        let fin = u32::from(segment.flags & FIN != 0);
        if segment.flags & SYN != 0 {
            if !self.heard {
                (self.heard, self.awaited) = (true, segment.seq.wrapping_add(1));
            }
        } else if segment.seq == self.awaited {
            self.awaited = self.awaited.wrapping_add(segment.data as u32 + fin);
        }
        let acks = segment.ack.wrapping_sub(self.unacked);
        if segment.flags & ACK != 0 && acks <= self.next.wrapping_sub(self.unacked) {
            self.unacked = segment.ack;
            self.synced |= acks > 0;
            let scale = if segment.flags & SYN == 0 {
                other_scale
            } else {
                0
            };
            let allowed = segment.ack.wrapping_add(u32::from(segment.window) << scale);
            if allowed.wrapping_sub(self.allowed) as i32 > 0 {
                self.allowed = allowed;
            }
        }
    }
}

/// Delivers one of the first segments of a line; some segments remain, so that they are delivered twice.
fn take(line: &mut Vec<Tcp>, rng: &mut Rng) -> Option<Tcp> {
    if line.is_empty() {
        return None;
    }
    let at = rng.below(line.len().min(4) as u64) as usize;
    if rng.percent(10) {
        Some(line[at])
    } else {
        Some(line.remove(at))
    }
}

fn converse(seed: u64, scales: [u8; 2]) {
    let mut rng = Rng::seeded(seed);
    let mut bed = Bed::new(&Settings {
        loose: false,
        ..Settings::default()
    });
    let tuple = tuple4(1, protocol::TCP);
    let mut ends = [0, 1].map(|side: usize| End::new(rng.next_u32(), scales[side]));
    // Lines from each end to the tracker, and from the tracker to the other end.
    let mut lines = [[vec![], vec![]], [vec![], vec![]]];
    let mut accepted = 0;
    for _ in 0..400 {
        let side = rng.below(2) as usize;
        let window = 2_000 + rng.below(6_000 << scales[side]) as u32;
        // The server waits for the client.
        if (side == 0 || ends[1].heard) && lines[0][side].len() < 20 {
            lines[0][side].extend(ends[side].send(&mut rng, window));
        }
        let way = rng.below(2) as usize;
        if let Some(segment) = take(&mut lines[0][way], &mut rng) {
            let tuple = if way == 0 { tuple } else { tuple.reversed() };
            let track = bed.show(&tcp(&tuple, &segment));
            let needed = ends[1 - way].needs(&segment);
            let invalid = track.state == State::Invalid;
            assert!(!(invalid && needed), "seed {seed}: {segment:?} of {way}");
            accepted += u32::from(!invalid);
            if rng.percent(1) {
                goes_on(&bed, &tuple, seed);
            }
            if !invalid && !rng.percent(15) {
                lines[1][way].push(segment);
            }
        }
        if let Some(segment) = take(&mut lines[1][way], &mut rng) {
            ends[1 - way].receive(&segment, scales[way]);
        }
        // Stops when both ends have closed, because the connection would then time out.
        if ends.iter().all(|end| end.fin.is_some()) {
            break;
        }
    }
    assert!(accepted > 1);
}

/// Checks that the segment predicted by the table continues the connection, and that the query changes
/// nothing.
fn goes_on(bed: &Bed, tuple: &Tuple, seed: u64) {
    let Some(known) = bed.table.known(tuple) else {
        return;
    };
    let before = bed.row(tuple);
    let mut copy = Bed::new(&Settings::default());
    assert!(copy.tracker.adopt(&known));
    assert_eq!(
        copy.row(tuple).map(|row| row.directions),
        before.map(|row| row.directions)
    );
    let next = known.next_segment();
    let segment = Tcp {
        flags: next.flags,
        seq: next.seq,
        ack: next.ack,
        window: 8_000,
        ..Tcp::default()
    };

    let track = copy.show(&tcp(tuple, &segment));

    assert_ne!(
        track.state,
        State::Invalid,
        "seed {seed}: {segment:?} {known:?}"
    );
    assert!(track.way.is_some_and(|way| way.reply() == known.reply));
    assert_eq!(bed.row(tuple), before);
}

#[test]
fn segments_of_correct_hosts_are_never_invalid_on_a_lossy_line() {
    for seed in 0..600 {
        converse(seed, [(seed % 9) as u8, (seed / 9 % 9) as u8]);
    }
}

proptest! {
    #[test]
    fn random_packets_never_panic_the_tracker(
        seed: u64,
        flips in prop::collection::vec((0..100_usize, any::<u8>()), 0..6),
        cut in 0..120_usize,
    ) {
        let mut bed = Bed::new(&Settings { entries_max: 8, ..Settings::default() });
        let mut rng = Rng::seeded(seed);
        for _ in 0..40 {
            let number = rng.below(3) as u32;
            let flags = rng.next_u32() as u8;
            let segment = Tcp { flags, seq: rng.next_u32(), ack: rng.next_u32(), window: 9, scale: None, data: 20 };
            let mut packet = match rng.below(6) {
                0 => plain(&tuple4(number, protocol::UDP), 30),
                1 => plain(&tuple4(number, protocol::ICMP), 60),
                2 => plain(&tuple6(number, protocol::ICMPV6), 60),
                3 => tcp(&tuple6(number, protocol::TCP), &segment),
                4 => tcp(&tuple4(number, protocol::TCP).reversed(), &segment),
                _ => tcp(&tuple4(number, protocol::TCP), &segment),
            };
            if rng.percent(50) {
                for (at, value) in &flips {
                    let at = at % packet.len();
                    packet[at] ^= value;
                }
            }
            if rng.percent(20) {
                packet.truncate(cut.max(1));
            }
            // Earlier stages of the router drop packets without a header.
            if Fields::of(&packet).len > 0 {
                bed.show(&packet);
            }
            bed.wait(rng.below(3) as u32);
        }
        prop_assert!(bed.table.rows(false).chain(bed.table.rows(true)).count() <= 8);
    }
}
