//! TCP as a connection tracker sees it: the state, and the sequence numbers that each side may use.
//!
//! `segment` parses a packet, `machine` is the state table, `window` checks sequence and acknowledgement
//! numbers (after Rooij, "Real Stateful TCP Packet Filtering", 2001, with the precautions of RFC 5961 for RST
//! and unexpected SYN). `judge` combines them without changes; `fast` replaces it for FastTracked
//! connections.

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

/// Effect of a segment on an existing connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// The connection is not TCP.
    #[default]
    Nothing,
    /// The segment is accepted and the connection changes to this state.
    Advance(TcpState),
    /// The segment is forwarded without effect; the end of a SYN is remembered in case the other side answers
    /// it.
    Ignore,
    /// A SYN-ACK confirms a SYN that was ignored: the connection restarts.
    Resync,
    /// A RST (under FastTrack also a FIN) that may be genuine: state and timeout stay until the other side
    /// confirms it (RFC 5961, 3.2).
    Doubt,
}

/// Classification of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The segment belongs to the connection.
    Step(Step),
    /// The segment cannot belong to the connection.
    Invalid,
    /// The connection is closed, and this segment opens a new one.
    Reopen,
}

/// TCP state after a connection's first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// The state; `None` if the packet is not TCP.
    pub(super) state: TcpState,
    /// The first segment.
    pub(super) segment: Segment,
}

/// Returns the state after a first segment; `None` if the segment may not begin a connection. `loose` accepts
/// connections in the middle.
pub(super) fn open(segment: &Segment, loose: bool) -> Option<TcpState> {
    match Signal::of(segment)? {
        Signal::Syn => Some(TcpState::SynSent),
        // RouterOS: `loose-tcp-tracking` picks up a connection by either.
        Signal::SynAck | Signal::Ack => loose.then_some(TcpState::Established),
        Signal::Fin | Signal::Rst => None,
    }
}

/// Classifies a segment. `liberal`: outside the window only a RST is invalid.
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

/// Returns true for a plain segment inside the window, the usual case of an established connection.
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
        // A retransmitted SYN-ACK fits the known numbers.
        Next::Ignore if signal == Signal::SynAck && talk.agrees(&segment) && fit != Fit::Inside => {
            return Judgement::Step(Step::Resync);
        }
        Next::Ignore => return Judgement::Step(Step::Ignore),
        Next::To(to) => to,
    };
    if signal == Signal::Rst {
        return judge_reset(&talk, state, &segment);
    }
    // Without an answer so far, the sender may start over with another SYN.
    let anew = signal == Signal::Syn && state == TcpState::SynSent && !reply;
    match fit {
        // The receiver repeats its last acknowledgement.
        Fit::Outside if signal == Signal::Ack && talk.is_late(&segment) => {
            Judgement::Step(Step::Ignore)
        }
        Fit::Outside if !liberal && !anew => Judgement::Invalid,
        _ => Judgement::Step(Step::Advance(closing(&talk, state, to, &segment))),
    }
}

/// Returns the next state if the numbers confirm it: a retransmitted FIN is not the other side's FIN, and
/// only an acknowledgement beyond a FIN acknowledges it.
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

/// Classifies a RST. It closes the connection if the receiver would accept it; if the receiver would send a
/// challenge ACK (RFC 5961, 3.2), the connection continues if another segment follows.
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
