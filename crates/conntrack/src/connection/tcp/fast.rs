//! What is believed of a conversation that FastTrack carries. Its numbers are not followed: what is known is
//! where each side was when a packet of it last walked slowly, and how much it can have sent since.
//!
//! A FIN or RST is believed if its numbers lie where both sides can be, and a blind one would hardly meet
//! that (RFC 5961). Any other is a claim: it changes nothing, and shortens nobody's life, until the other
//! side acknowledges exactly what it says.

use super::machine::{Next, Signal, next};
use super::segment::{Segment, flag};
use super::{Judgement, Step};
use crate::connection::TcpState;

/// Segments that overtook others, or are sent again, may lie so far beside the place that is known.
const BESIDE: u64 = 8 << 10;
/// The pairs of numbers, of all 2^64, that a blind segment may be right with: one in 2^16.
const RIGHT_MAX: u128 = 1 << 48;
/// All numbers of a side about which nothing is known.
const ALL: u64 = 1 << 32;
/// Bits of the number that a claim keeps.
const CLAIM_BITS: u32 = 18;

/// An end that a side spoke of, to be borne out by the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) struct Claim {
    reset: bool,
    /// The low bits of what acknowledges it.
    number: u32,
}

impl Claim {
    /// The bits that a claim, or none, is kept in.
    pub(in crate::connection) const BITS: u32 = CLAIM_BITS + 2;

    fn of(segment: &Segment) -> Self {
        let reset = segment.has(flag::RST);
        let number = if reset { segment.seq } else { segment.end };
        let number = number % (1 << CLAIM_BITS);
        Self { reset, number }
    }

    fn is_borne_out(self, segment: &Segment) -> bool {
        let reset = segment.has(flag::RST);
        !reset && segment.has(flag::ACK) && segment.ack % (1 << CLAIM_BITS) == self.number
    }

    pub(in crate::connection) const fn to_bits(claim: Option<Self>) -> u32 {
        match claim {
            Some(Self { reset, number }) => {
                1 << (CLAIM_BITS + 1) | (reset as u32) << CLAIM_BITS | number
            }
            None => 0,
        }
    }

    pub(in crate::connection) fn of_bits(bits: u32) -> Option<Self> {
        (bits >> (CLAIM_BITS + 1) & 1 != 0).then_some(Self {
            reset: bits >> CLAIM_BITS & 1 != 0,
            number: bits % (1 << CLAIM_BITS),
        })
    }
}

/// One side, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Trail {
    /// Behind the last number that it was seen to send; none before it has spoken.
    pub(in crate::connection) end: Option<u32>,
    /// It has sent at most so many bytes since.
    pub(in crate::connection) since: u64,
    pub(in crate::connection) claim: Option<Claim>,
}

impl Trail {
    /// How many numbers lie where the side can be; none if this one does not.
    fn meets(&self, number: u32) -> Option<u64> {
        let (Some(end), true) = (self.end, self.since < ALL / 2) else {
            return Some(ALL);
        };
        let width = self.since + 2 * BESIDE;
        let at = number.wrapping_sub(end).wrapping_add(BESIDE as u32);
        (u64::from(at) <= width).then_some(width)
    }

    /// Whether the side can have sent a segment that is neither FIN nor RST.
    fn can_send(&self, segment: &Segment) -> bool {
        self.meets(segment.seq).is_some()
    }
}

/// Both sides, as seen from a segment's direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Trails {
    pub(in crate::connection) sender: Trail,
    pub(in crate::connection) receiver: Trail,
}

impl Trails {
    /// Whether a FIN or RST is believed by its numbers alone.
    fn believe(&self, segment: &Segment) -> bool {
        // Some stacks send a RST with ACK and 0.
        let acks = segment.has(flag::ACK) && !(segment.has(flag::RST) && segment.ack == 0);
        let acked = match acks {
            true => self.receiver.meets(segment.ack),
            false => Some(ALL),
        };
        match (self.sender.meets(segment.seq), acked) {
            (Some(sent), Some(acked)) => u128::from(sent) * u128::from(acked) <= RIGHT_MAX,
            _ => false,
        }
    }

    fn borne_out(&self, segment: &Segment) -> Option<Claim> {
        self.receiver
            .claim
            .filter(|claim| claim.is_borne_out(segment))
    }

    /// Takes note of a segment with which the conversation made this step; whether that changed anything
    /// of its sender's place.
    pub(in crate::connection) fn note(&mut self, step: Step, segment: &Segment) -> bool {
        if step == Step::Doubt {
            self.sender.claim = Some(Claim::of(segment));
            return false;
        }
        if !matches!(step, Step::Advance(_)) {
            return false;
        }
        if self.borne_out(segment).is_some() {
            self.receiver.claim = None;
        }
        let goes_on = match self.sender.end {
            Some(_) if segment.has(flag::SYN) => true,
            Some(end) => self.sender.can_send(segment) && end.wrapping_sub(segment.end) as i32 <= 0,
            None => true,
        };
        if goes_on {
            self.sender.end = Some(segment.end);
        }
        goes_on
    }
}

/// What a segment is to a conversation that FastTrack carries.
#[cold]
#[inline(never)]
pub(in crate::connection) fn judge_fast(
    trails: &Trails,
    state: TcpState,
    segment: &Segment,
    reply: bool,
) -> Judgement {
    let Some(signal) = Signal::of(segment) else {
        return Judgement::Invalid;
    };
    let claim = trails.borne_out(segment);
    let from = match claim.map(|claim| claim.reset) {
        Some(true) => TcpState::Close,
        Some(false) => match next(state, Signal::Fin, !reply) {
            Next::To(ended) => ended,
            _ => state,
        },
        None => state,
    };
    let is_end = matches!(signal, Signal::Fin | Signal::Rst);
    match next(from, signal, reply) {
        Next::Invalid => Judgement::Invalid,
        Next::Reopen => Judgement::Reopen,
        Next::Ignore => Judgement::Step(Step::Ignore),
        Next::To(_) if is_end && claim.is_none() && !trails.believe(segment) => {
            Judgement::Step(Step::Doubt)
        }
        Next::To(to) => Judgement::Step(Step::Advance(to)),
    }
}
