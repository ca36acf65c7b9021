//! What each side of a conversation may send: the numbers that its segments and the other side's
//! acknowledgements and windows allow.
//!
//! A segment fits if it begins at or before the last place that its receiver allowed, does not end
//! before what the receiver has surely done with, acknowledges nothing that was not sent, and
//! nothing long past. Bounds never err against an honest end that the tracker saw from its SYN on;
//! with one that it did not see, whose window scale is unknown, it is liberal.

use super::segment::{Segment, flag};
use crate::connection::TcpState;

/// The farthest that an acknowledgement may lie back, beside a larger window of its sender.
const OLD_ACK_MAX: u32 = 66_000;

/// The scale of the windows is known.
const SCALED: u8 = 1;
/// Bounds are not binding.
const LIBERAL: u8 = 2;
/// It sent what is not acknowledged.
const UNACKED: u8 = 4;
/// `ack_max` is known.
const ACKED: u8 = 8;
/// It sent its FIN.
const FINISHED: u8 = 16;

/// One side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Peer {
    /// Behind the last number that it sent.
    pub(in crate::connection) end: u32,
    /// The last number that it may send.
    pub(in crate::connection) end_max: u32,
    /// The largest window that it offered; 0 until something came from it.
    pub(in crate::connection) window_max: u32,
    /// The highest that it acknowledged.
    pub(in crate::connection) ack_max: u32,
    /// The shift of its windows.
    pub(in crate::connection) scale: u8,
    pub(in crate::connection) flags: u8,
}

/// What happened last, as far as it is needed later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) enum Last {
    /// Nothing that matters.
    #[default]
    Other,
    /// A segment of the conversation.
    Segment,
    /// A SYN that was ignored; `last_end` is its end.
    Syn,
    /// An ACK that was ignored; `last_end` is what it acknowledged.
    Ack,
}

/// What tracking knows of a TCP connection beside its state, as seen from a segment's direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Talk {
    /// The side that sends the segment.
    pub(in crate::connection) sender: Peer,
    /// The other.
    pub(in crate::connection) receiver: Peer,
    /// The end of the last segment, or what `last` says.
    pub(in crate::connection) last_end: u32,
    pub(super) last: Last,
    /// The last came in the same direction.
    pub(super) last_same: bool,
    /// How often the last segment was repeated, up to 3.
    pub(super) repeats: u8,
    /// The last window offered was none.
    pub(super) shut: bool,
}

/// How a segment lies to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Inside,
    Outside,
    /// Outside of bounds that are not known well.
    Unknown,
}

impl Peer {
    const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The window that a segment of this side offers, in bytes. A SYN's is not scaled.
    const fn window(&self, segment: &Segment) -> u32 {
        let scale = if segment.has(flag::SYN) {
            0
        } else {
            self.scale
        };
        (segment.window as u32) << scale
    }

    /// Begins with a SYN of this side.
    fn open(segment: &Segment) -> Self {
        Self {
            end: segment.end,
            end_max: segment.end,
            window_max: u32::from(segment.window).max(1),
            scale: segment.scale.unwrap_or(0),
            flags: if segment.scale.is_some() { SCALED } else { 0 },
            ..Self::default()
        }
    }

    /// Begins in the middle.
    fn join(segment: &Segment, liberal: u8) -> Self {
        let window_max = u32::from(segment.window).max(1);
        Self {
            end: segment.end,
            end_max: segment.end.wrapping_add(window_max),
            window_max,
            flags: liberal,
            ..Self::default()
        }
    }
}

impl Talk {
    /// The talk after its first segment, seen from its direction.
    pub(in crate::connection) fn begin(segment: &Segment) -> Self {
        let mut talk = Self {
            last: Last::Segment,
            last_same: true,
            last_end: segment.end,
            ..Self::default()
        };
        if segment.has(flag::SYN) && !segment.has(flag::ACK) {
            talk.sender = Peer::open(segment);
            return talk;
        }
        // The other side's numbers follow from what it acknowledges.
        talk.sender = Peer::join(segment, LIBERAL);
        talk.receiver = Peer {
            end: segment.ack,
            end_max: segment.ack.wrapping_add(u32::from(segment.window)),
            flags: LIBERAL,
            ..Peer::default()
        };
        talk
    }

    /// What a segment acknowledges; what its receiver sent, where it acknowledges nothing.
    #[inline(always)]
    const fn acknowledged(&self, segment: &Segment) -> u32 {
        // Some stacks send a RST with ACK and 0.
        let empty = segment.has(flag::RST) && segment.ack == 0;
        if segment.has(flag::ACK) && !empty {
            segment.ack
        } else {
            self.receiver.end
        }
    }

    /// Whether the segment lies within the window.
    #[inline(always)]
    pub(super) fn fit(&self, segment: &Segment) -> Fit {
        let Self {
            sender, receiver, ..
        } = self;
        let ack = self.acknowledged(segment);
        let old_ack_max = sender.window_max.max(OLD_ACK_MAX);
        // Without branches: all of it holds for nearly every segment.
        let acks =
            at_most(ack, receiver.end) & at_most(receiver.end.wrapping_sub(old_ack_max), ack);
        let begins = (sender.window_max == 0) | at_most(segment.seq, sender.end_max);
        let ends = (sender.window_max == 0)
            | (receiver.window_max == 0)
            | at_most(sender.end.wrapping_sub(receiver.window_max), segment.end);
        match acks & begins & ends {
            true => Fit::Inside,
            false if sender.is(LIBERAL) => Fit::Unknown,
            false => Fit::Outside,
        }
    }

    /// Whether a segment that lies outside may be a copy of one that its receiver has long had: it was sent
    /// again, and what followed on that has overtaken it. Two windows back, and as far as an acknowledgement
    /// may lie back; what is older nobody honest still sends.
    pub(super) fn is_late(&self, segment: &Segment) -> bool {
        let Self {
            sender, receiver, ..
        } = self;
        let back = sender.end.wrapping_sub(segment.end);
        let windows = receiver.window_max.saturating_mul(2);
        segment.spans()
            && (receiver.window_max..=windows.saturating_add(OLD_ACK_MAX)).contains(&back)
            && at_most(self.acknowledged(segment), receiver.end)
    }

    /// Whether a RST is the one that its receiver would obey: its number is the next that the
    /// receiver waits for (RFC 5961, 3.2), or follows on the segment before it. `None` where it lies
    /// before what is acknowledged.
    pub(super) fn reset(&self, segment: &Segment) -> Option<bool> {
        let receiver = &self.receiver;
        if self.sender.window_max == 0 {
            // The answer to a SYN acknowledges it (RFC 9293, 3.10.7.3).
            let answer = segment.has(flag::ACK) && segment.ack == receiver.end;
            return (answer || receiver.is(LIBERAL)).then_some(answer);
        }
        if receiver.is(ACKED) && before(segment.seq, receiver.ack_max) {
            return None;
        }
        let next = receiver.is(ACKED) && segment.seq == receiver.ack_max;
        let train = self.last == Last::Segment && self.last_same && self.last_end == segment.seq;
        Some(next || train)
    }

    /// A RST that answers an ACK which was ignored: its number is what that acknowledged.
    pub(super) fn answers_ack(&self, segment: &Segment) -> bool {
        self.last == Last::Ack && !self.last_same && self.last_end == segment.seq
    }

    /// A SYN-ACK that agrees with a SYN which was ignored.
    pub(super) fn agrees(&self, segment: &Segment) -> bool {
        self.last == Last::Syn && !self.last_same && self.last_end == segment.ack
    }

    /// Whether the other side sent its FIN.
    pub(super) fn is_finished(&self) -> bool {
        self.receiver.is(FINISHED)
    }

    /// Whether something that the segment's sender sent is not acknowledged.
    pub(super) fn is_unacked(&self) -> bool {
        self.sender.is(UNACKED)
    }

    /// Whether a segment acknowledges all that the other side sent.
    pub(super) fn acknowledges_all(&self, segment: &Segment) -> bool {
        segment.has(flag::ACK) && segment.ack == self.receiver.end
    }

    /// Takes note of a segment that is part of the talk.
    #[inline(always)]
    pub(in crate::connection) fn note(&mut self, segment: &Segment, state: TcpState) {
        if segment.has(flag::SYN) || self.sender.window_max == 0 {
            *self = self.begun(*segment, state);
        }
        let ack = self.acknowledged(segment);
        let Self {
            sender, receiver, ..
        } = self;
        let window = sender.window(segment);
        sender.window_max = sender.window_max.max(window);
        if before(sender.end, segment.end) {
            sender.end = segment.end;
            sender.flags |= UNACKED;
        }
        if segment.has(flag::FIN) {
            sender.flags |= FINISHED;
        }
        if segment.has(flag::ACK) && !(sender.is(ACKED) && before(ack, sender.ack_max)) {
            sender.ack_max = ack;
            sender.flags |= ACKED;
        }
        // A probe of a window that was shut shows that its receiver may take more.
        if receiver.window_max != 0 && before(sender.end_max, segment.end) {
            let more = segment.end.wrapping_sub(sender.end_max);
            receiver.window_max = receiver.window_max.saturating_add(more).min(WINDOW_MAX);
        }
        let allowed = ack.wrapping_add(window.max(1));
        if before(receiver.end_max, allowed) {
            receiver.end_max = allowed;
        }
        if ack == receiver.end {
            receiver.flags &= !UNACKED;
        }
        self.count_repeats(segment, window == 0);
    }

    /// Begins a side with its first segment, or with a SYN that it sends anew.
    #[cold]
    #[inline(never)]
    fn begun(self, segment: Segment, state: TcpState) -> Self {
        let (mut talk, segment) = (self, &segment);
        let kept = self.sender;
        let first = kept.window_max == 0;
        let opening = matches!(
            state,
            TcpState::SynSent | TcpState::SynSent2 | TcpState::SynReceived
        );
        if segment.has(flag::SYN) && (first || opening) {
            let opened = Peer::open(segment);
            // A first window holds before anything is acknowledged: answers may carry data at once.
            let allowed = segment.end.wrapping_add(self.receiver.window_max);
            talk.sender = Peer {
                end_max: if before(allowed, kept.end_max) && !first {
                    kept.end_max
                } else {
                    allowed
                },
                ack_max: kept.ack_max,
                flags: opened.flags | kept.flags & (LIBERAL | ACKED),
                ..opened
            };
            let both = talk.sender.is(SCALED) && talk.receiver.is(SCALED);
            if segment.has(flag::ACK) && !both {
                // Only both scale, or none (RFC 7323, 2.2).
                for peer in [&mut talk.sender, &mut talk.receiver] {
                    peer.scale = 0;
                    peer.flags &= !SCALED;
                }
            }
        } else if first && !segment.has(flag::RST) {
            talk.sender = Peer::join(segment, kept.flags & LIBERAL);
        }
        talk
    }

    /// Three repetitions of a segment are a sender whose receiver is gone.
    #[inline(always)]
    fn count_repeats(&mut self, segment: &Segment, shut: bool) {
        let repeated = segment.spans()
            & (self.last == Last::Segment)
            & self.last_same
            & (self.last_end == segment.end);
        self.repeats = if repeated {
            (self.repeats + 1).min(3)
        } else {
            0
        };
        self.last = Last::Segment;
        self.last_same = true;
        self.last_end = segment.end;
        self.shut = shut && !segment.has(flag::RST);
    }

    /// The talk that remembers what was let through without belief.
    #[cold]
    #[inline(never)]
    pub(in crate::connection) fn ignoring(mut self, segment: Segment) -> Self {
        self.last_same = true;
        (self.last, self.last_end) = if segment.has(flag::SYN) && !segment.has(flag::ACK) {
            (Last::Syn, segment.end)
        } else if segment.flags & (flag::SYN | flag::RST) == 0 {
            (Last::Ack, segment.ack)
        } else {
            (Last::Other, 0)
        };
        self
    }

    /// The talk that begins again with the SYN that was ignored and the SYN-ACK that agrees with it.
    /// Its options were not kept, so both sides are liberal.
    #[cold]
    #[inline(never)]
    pub(in crate::connection) fn resynced(self, segment: Segment) -> Self {
        let liberal = |peer| Peer {
            scale: 0,
            flags: LIBERAL,
            ..peer
        };
        let receiver = Peer {
            end: self.last_end,
            end_max: self.last_end.wrapping_add(u32::from(segment.window)),
            window_max: u32::from(u16::MAX),
            ..Peer::default()
        };
        let mut talk = Self {
            sender: liberal(Peer::open(&segment)),
            receiver: liberal(receiver),
            ..Self::default()
        };
        talk.count_repeats(&segment, false);
        talk
    }

    /// Something was sent and is not acknowledged.
    #[inline(always)]
    pub(in crate::connection) fn unacked(&self) -> bool {
        (self.sender.flags | self.receiver.flags) & UNACKED != 0
    }

    /// A side sends the same again and again, or the other takes nothing.
    #[inline(always)]
    pub(in crate::connection) fn stuck(&self) -> bool {
        (self.repeats >= 3) | self.shut
    }

    /// The small parts, in 32 bits: in the original direction those of both sides in this order.
    #[inline(always)]
    pub(in crate::connection) fn bits(&self, reply: bool) -> u32 {
        let side = |peer: &Peer| u32::from(peer.scale) | u32::from(peer.flags) << 4;
        let shift = u32::from(reply) * SIDE_BITS;
        side(&self.sender) << shift
            | side(&self.receiver) << (SIDE_BITS - shift)
            | (self.last as u32) << 18
            | u32::from(self.last_same == reply) << 20
            | u32::from(self.shut) << 21
            | u32::from(self.repeats) << 22
    }

    /// Takes the small parts from such bits.
    #[inline(always)]
    pub(in crate::connection) fn set_bits(&mut self, bits: u32, reply: bool) {
        let part = |shift: u32, mask: u32| (bits >> shift & mask) as u8;
        let shift = u32::from(reply) * SIDE_BITS;
        (self.sender.scale, self.sender.flags) = (part(shift, 0xf), part(shift + 4, 0x1f));
        let shift = SIDE_BITS - shift;
        (self.receiver.scale, self.receiver.flags) = (part(shift, 0xf), part(shift + 4, 0x1f));
        self.last = match part(18, 3) {
            0 => Last::Other,
            1 => Last::Segment,
            2 => Last::Syn,
            _ => Last::Ack,
        };
        self.last_same = (part(20, 1) != 0) == reply;
        self.shut = part(21, 1) != 0;
        self.repeats = part(22, 3);
    }
}

/// Scale and flags of a side.
const SIDE_BITS: u32 = 9;

/// No window is larger (RFC 7323, 2.3).
const WINDOW_MAX: u32 = 1 << 30;

/// Whether `a` comes before `b`, on the circle of sequence numbers.
#[inline(always)]
const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` comes before `b` or is the same.
#[inline(always)]
const fn at_most(a: u32, b: u32) -> bool {
    !before(b, a)
}
