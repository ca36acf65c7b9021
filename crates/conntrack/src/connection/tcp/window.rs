//! TCP window tracking: which sequence and acknowledgement numbers each side may use.
//!
//! A segment fits if it begins within the window that its receiver offered, does not end before data that its
//! receiver surely has, and acknowledges neither unsent data nor very old data. The bounds never reject an
//! honest end whose SYN the tracker saw; for other connections, whose window scale is unknown, they are not
//! binding.

use super::segment::{Segment, flag};
use crate::connection::TcpState;

/// Maximum age of an acknowledgement in bytes, unless the sender's window is larger.
const OLD_ACK_MAX: u32 = 66_000;

/// The window scale is known.
const SCALED: u8 = 1;
/// The bounds are not binding.
const LIBERAL: u8 = 2;
/// The side sent data that is not acknowledged.
const UNACKED: u8 = 4;
/// `ack_max` is known.
const ACKED: u8 = 8;
/// The side sent its FIN.
const FINISHED: u8 = 16;

/// Window state of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Peer {
    /// The sequence number after the last one that the side sent.
    pub(in crate::connection) end: u32,
    /// The last sequence number that the side may send.
    pub(in crate::connection) end_max: u32,
    /// The largest window that the side offered; 0 until its first packet.
    pub(in crate::connection) window_max: u32,
    /// The highest acknowledgement number that the side sent.
    pub(in crate::connection) ack_max: u32,
    /// The window scale of the side.
    pub(in crate::connection) scale: u8,
    pub(in crate::connection) flags: u8,
}

/// The last segment, as far as a later segment depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) enum Last {
    /// Nothing relevant.
    #[default]
    Other,
    /// A segment that belongs to the connection.
    Segment,
    /// A SYN that was ignored; `last_end` is its end.
    Syn,
    /// An ACK that was ignored; `last_end` is its acknowledgement number.
    Ack,
}

/// TCP sequence state of a connection, relative to a segment's direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Talk {
    /// The side that sends the segment.
    pub(in crate::connection) sender: Peer,
    /// The side that receives the segment.
    pub(in crate::connection) receiver: Peer,
    /// The end of the last segment, or the number that `last` describes.
    pub(in crate::connection) last_end: u32,
    pub(super) last: Last,
    /// True if the last segment had the same direction.
    pub(super) last_same: bool,
    /// Number of retransmissions of the last segment, at most 3.
    pub(super) repeats: u8,
    /// True if the last window was zero.
    pub(super) shut: bool,
}

/// Position of a segment relative to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Inside,
    Outside,
    /// Outside of bounds that are not binding.
    Unknown,
}

impl Peer {
    const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the window that a segment of this side offers, in bytes. The window of a SYN is not scaled.
    const fn window(&self, segment: &Segment) -> u32 {
        let scale = if segment.has(flag::SYN) {
            0
        } else {
            self.scale
        };
        (segment.window as u32) << scale
    }

    /// Initialises a side from its SYN.
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

    /// Initialises a side from a segment in the middle of a connection.
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
    /// Initialises the state from the first segment, relative to its direction.
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
        // The other side's numbers follow from the acknowledgement.
        talk.sender = Peer::join(segment, LIBERAL);
        talk.receiver = Peer {
            end: segment.ack,
            end_max: segment.ack.wrapping_add(u32::from(segment.window)),
            flags: LIBERAL,
            ..Peer::default()
        };
        talk
    }

    /// Returns the acknowledgement number; without ACK the end of the receiver's data.
    #[inline(always)]
    const fn acknowledged(&self, segment: &Segment) -> u32 {
        // Some stacks send a RST with ACK and acknowledgement number 0.
        let empty = segment.has(flag::RST) && segment.ack == 0;
        if segment.has(flag::ACK) && !empty {
            segment.ack
        } else {
            self.receiver.end
        }
    }

    /// Returns the position of the segment relative to the window.
    #[inline(always)]
    pub(super) fn fit(&self, segment: &Segment) -> Fit {
        let Self {
            sender, receiver, ..
        } = self;
        let ack = self.acknowledged(segment);
        let old_ack_max = sender.window_max.max(OLD_ACK_MAX);
        // Without branches: nearly every segment satisfies all conditions.
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

    /// Returns true if a segment before the window may be a retransmission that newer segments overtook.
    /// Accepted are two windows plus the maximum age of an acknowledgement.
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

    /// Returns whether the receiver would accept a RST: its number is the next one that the receiver expects
    /// (RFC 5961, 3.2), or follows directly on the previous segment. Returns `None` if the number lies before
    /// acknowledged data.
    pub(super) fn reset(&self, segment: &Segment) -> Option<bool> {
        let receiver = &self.receiver;
        if self.sender.window_max == 0 {
            // The reply to a SYN acknowledges it (RFC 9293, 3.10.7.3).
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

    /// Returns true for a RST that answers an ignored ACK: its sequence number is the ACK's acknowledgement
    /// number.
    pub(super) fn answers_ack(&self, segment: &Segment) -> bool {
        self.last == Last::Ack && !self.last_same && self.last_end == segment.seq
    }

    /// Returns true for a SYN-ACK that answers an ignored SYN.
    pub(super) fn agrees(&self, segment: &Segment) -> bool {
        self.last == Last::Syn && !self.last_same && self.last_end == segment.ack
    }

    /// Returns true if the other side sent its FIN.
    pub(super) fn is_finished(&self) -> bool {
        self.receiver.is(FINISHED)
    }

    /// Returns true if the segment's sender has unacknowledged data.
    pub(super) fn is_unacked(&self) -> bool {
        self.sender.is(UNACKED)
    }

    /// Returns true if a segment acknowledges all data of the other side.
    pub(super) fn acknowledges_all(&self, segment: &Segment) -> bool {
        segment.has(flag::ACK) && segment.ack == self.receiver.end
    }

    /// Updates the state for a segment that belongs to the connection.
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
        // A zero-window probe beyond the bound shows that the receiver may accept more.
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

    /// Initialises a side from its first segment or from a new SYN.
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
            // The first window applies before any acknowledgement: a reply may carry data at once.
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
                // Window scaling applies only if both sides offer it (RFC 7323, 2.2).
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

    /// Counts retransmissions: after three, the receiver counts as unreachable.
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

    /// Returns the state after an ignored segment, which a later segment may confirm.
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

    /// Returns the state after a SYN-ACK that answers an ignored SYN. The options of the SYN are not stored,
    /// so the bounds of both sides are not binding.
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

    /// Returns true if a side has unacknowledged data.
    #[inline(always)]
    pub(in crate::connection) fn unacked(&self) -> bool {
        (self.sender.flags | self.receiver.flags) & UNACKED != 0
    }

    /// Returns true if a side keeps retransmitting or the last window was zero.
    #[inline(always)]
    pub(in crate::connection) fn stuck(&self) -> bool {
        (self.repeats >= 3) | self.shut
    }

    /// Encodes scales, flags and `last` in 32 bits, with the sides in original order.
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

    /// Decodes the bits of [`Self::bits`].
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

/// Bits of one side's scale and flags.
const SIDE_BITS: u32 = 9;

/// The largest possible window (RFC 7323, 2.3).
const WINDOW_MAX: u32 = 1 << 30;

/// Returns true if `a` comes before `b` in sequence number arithmetic.
#[inline(always)]
const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Returns true if `a` comes before `b` or equals it.
#[inline(always)]
const fn at_most(a: u32, b: u32) -> bool {
    !before(b, a)
}
