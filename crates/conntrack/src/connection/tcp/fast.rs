//! Plausibility of FIN and RST in FastTracked TCP connections. Their sequence numbers are not tracked; known
//! are the position of each side at its last slow-path packet and an upper bound of the data sent since
//! then.
//!
//! A FIN or RST is accepted if its numbers are possible for both sides and a blind attacker would hardly
//! guess them (RFC 5961). Any other FIN or RST is a claim: it changes neither state nor timeout until the
//! other side acknowledges exactly its number.

use super::machine::{Next, Signal, next};
use super::segment::{Segment, flag};
use super::{Judgement, Step};
use crate::connection::TcpState;

/// Allowed distance of reordered or retransmitted segments from the known position.
const REORDERING_MAX: u64 = 8 << 10;
/// Maximum number of accepted pairs of sequence and acknowledgement number, of 2^64: a blind segment succeeds
/// once in 2^16.
const RIGHT_MAX: u128 = 1 << 48;
/// Number of accepted values if the position of a side is unknown.
const ALL: u64 = 1 << 32;
/// Bits of the sequence number that a claim stores.
const CLAIM_BITS: u32 = 18;

/// A FIN or RST that the other side has to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) struct Claim {
    reset: bool,
    /// The low bits of the acknowledgement that confirms it.
    number: u32,
}

impl Claim {
    /// Bits of an encoded claim, or of none.
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

/// Known sequence numbers of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Trail {
    /// Sequence number after the last observed byte of the side; `None` before its first packet.
    pub(in crate::connection) end: Option<u32>,
    /// Upper bound of the bytes that the side has sent since.
    pub(in crate::connection) since: u64,
    pub(in crate::connection) claim: Option<Claim>,
}

impl Trail {
    /// Returns how many numbers are possible for the side; `None` if `number` is not among them.
    fn meets(&self, number: u32) -> Option<u64> {
        let (Some(end), true) = (self.end, self.since < ALL / 2) else {
            return Some(ALL);
        };
        let width = self.since + 2 * REORDERING_MAX;
        let at = number.wrapping_sub(end).wrapping_add(REORDERING_MAX as u32);
        (u64::from(at) <= width).then_some(width)
    }

    /// Returns true if the side can have sent a segment that is neither FIN nor RST.
    fn can_send(&self, segment: &Segment) -> bool {
        self.meets(segment.seq).is_some()
    }
}

/// Both sides, relative to a segment's direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Trails {
    pub(in crate::connection) sender: Trail,
    pub(in crate::connection) receiver: Trail,
}

impl Trails {
    /// Returns true if the numbers of a FIN or RST suffice to accept it.
    fn believe(&self, segment: &Segment) -> bool {
        // Some stacks send a RST with ACK and acknowledgement number 0.
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

    /// Updates the positions after a segment with this step. Returns true if the sender's position changed.
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

/// Classifies a segment of a FastTracked connection.
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
