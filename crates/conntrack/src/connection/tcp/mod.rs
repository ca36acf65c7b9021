//! TCP as a connection tracker sees it from the middle: a state, and what each side may send.
//!
//! `segment` reads a packet, `machine` is the table of states, `window` knows which sequence and
//! acknowledgement numbers can be true (after Rooij, "Real Stateful TCP Packet Filtering", 2001, with
//! the care of RFC 5961 for resets and for SYNs out of place). `judge` puts them together and
//! changes nothing; `fast` does the same where FastTrack carries what lies between.

mod fast;
mod machine;
mod segment;
mod window;

pub(super) use fast::{Claim, Trail, Trails, judge_fast};
pub(super) use segment::{Segment, flag};
pub(super) use window::Talk;

use self::machine::{Next, Signal, next};
use self::window::Fit;
use super::state::TcpState;

/// What TCP makes of a packet of an existing connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// The connection is not TCP.
    #[default]
    Nothing,
    /// The packet is part of the conversation, which is then in this state.
    Advance(TcpState),
    /// It is let through and believed in nothing; a SYN's end is remembered, in case the other side
    /// agrees with it.
    Ignore,
    /// A SYN-ACK shows that a SYN which was ignored was right: the conversation begins again.
    Resync,
    /// A RST, or where FastTrack carries the conversation a FIN too, that may be true: state and time stay as
    /// they are until more is known (RFC 5961, 3.2).
    Doubt,
}

/// What a segment is to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Part of it.
    Step(Step),
    /// It cannot be.
    Invalid,
    /// The conversation is over, and this begins another.
    Reopen,
}

/// The state of TCP after a connection's first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// The state; `None` for what is not TCP.
    pub(super) state: TcpState,
    /// The first segment.
    pub(super) segment: Segment,
}

/// The state that a first packet leads to; none when it may not begin anything. `loose` picks up
/// conversations in their middle.
pub(super) fn open(segment: &Segment, loose: bool) -> Option<TcpState> {
    match Signal::of(segment)? {
        Signal::Syn => Some(TcpState::SynSent),
        // RouterOS: both pick a connection up (`loose-tcp-tracking`).
        Signal::SynAck | Signal::Ack => loose.then_some(TcpState::Established),
        Signal::Fin | Signal::Rst => None,
    }
}

/// What a segment is to the conversation. `liberal`: of what lies outside the window only a RST is
/// invalid.
#[inline(always)]
pub(super) fn judge(
    talk: &Talk,
    state: TcpState,
    segment: &Segment,
    reply: bool,
    liberal: bool,
) -> Judgement {
    if state == TcpState::Established && goes_on(talk, segment) {
        return Judgement::Step(Step::Advance(state));
    }
    judge_any(*talk, state, *segment, reply, liberal)
}

/// Whether a segment is one in the midst of a conversation, which is established: nearly all are.
#[inline(always)]
pub(super) fn goes_on(talk: &Talk, segment: &Segment) -> bool {
    segment.is_plain() && talk.fit(segment) == Fit::Inside
}

#[cold]
#[inline(never)]
fn judge_any(
    talk: Talk,
    state: TcpState,
    segment: Segment,
    reply: bool,
    liberal: bool,
) -> Judgement {
    let Some(signal) = Signal::of(&segment) else {
        return Judgement::Invalid;
    };
    let fit = talk.fit(&segment);
    let to = match next(state, signal, reply) {
        Next::Invalid => return Judgement::Invalid,
        Next::Reopen => return Judgement::Reopen,
        // A SYN-ACK that is only repeated fits what is known.
        Next::Ignore if signal == Signal::SynAck && talk.agrees(&segment) && fit != Fit::Inside => {
            return Judgement::Step(Step::Resync);
        }
        Next::Ignore => return Judgement::Step(Step::Ignore),
        Next::To(to) => to,
    };
    if signal == Signal::Rst {
        return judge_reset(&talk, state, &segment);
    }
    // Nobody has answered yet: its sender may begin anew.
    let anew = signal == Signal::Syn && state == TcpState::SynSent && !reply;
    match fit {
        // Its receiver only says again what it waits for.
        Fit::Outside if signal == Signal::Ack && talk.is_late(&segment) => {
            Judgement::Step(Step::Ignore)
        }
        Fit::Outside if !liberal && !anew => Judgement::Invalid,
        _ => Judgement::Step(Step::Advance(closing(&talk, state, to, &segment))),
    }
}

/// The state that follows, if the numbers bear it out: a FIN that is sent again is not the other
/// side's, and a FIN is acknowledged only by what lies behind it.
fn closing(talk: &Talk, state: TcpState, to: TcpState, segment: &Segment) -> TcpState {
    use TcpState::{CloseWait, FinWait, LastAck, TimeWait};
    let borne_out = match (state, to) {
        (FinWait | CloseWait, LastAck) => talk.is_finished(),
        (FinWait, CloseWait) => talk.is_finished() && talk.acknowledges_all(segment),
        (LastAck, TimeWait) => talk.acknowledges_all(segment) && !talk.is_unacked(),
        _ => true,
    };
    if borne_out { to } else { state }
}

/// A RST ends a conversation when its receiver would obey it; where it lies within the window but
/// its receiver would rather ask (RFC 5961, 3.2), the conversation goes on if something follows.
fn judge_reset(talk: &Talk, state: TcpState, segment: &Segment) -> Judgement {
    if talk.answers_ack(segment) {
        return Judgement::Step(Step::Ignore);
    }
    let asks = matches!(
        state,
        TcpState::Established | TcpState::FinWait | TcpState::CloseWait | TcpState::LastAck
    );
    match (talk.reset(segment), talk.fit(segment)) {
        (None, _) | (_, Fit::Outside) => Judgement::Invalid,
        (Some(false), _) if asks => Judgement::Step(Step::Doubt),
        (_, Fit::Unknown) => Judgement::Step(Step::Doubt),
        _ => Judgement::Step(Step::Advance(TcpState::Close)),
    }
}
