//! TCP state table, as seen by a router between both ends (RFC 9293, 3.3.2).
//!
//! An end may have missed a segment that the router saw, and the other way round. A flag that does not fit
//! the state is therefore either forwarded without effect (`Ignore`) or invalid; only segments that the ends
//! would accept change the state.

use super::segment::{Segment, flag};
use crate::connection::TcpState;

/// The TCP flags of a segment, reduced to one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum Signal {
    Syn,
    SynAck,
    Fin,
    Ack,
    Rst,
}

/// Result of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum Next {
    /// The connection changes to this state.
    To(TcpState),
    /// The segment is forwarded without effect; the ends resolve the conflict.
    Ignore,
    /// The segment cannot belong to the connection.
    Invalid,
    /// The connection is closed, and this segment opens a new one between the same ports.
    Reopen,
}

impl Signal {
    /// Returns the signal of the flags; `None` for combinations that no TCP sends (RFC 9293, 3.10.7), as in
    /// scans and evasion attempts.
    pub(in crate::connection) const fn of(segment: &Segment) -> Option<Self> {
        // URG, PSH and the ECN bits (RFC 3168) may come with any signal.
        match segment.flags & (flag::FIN | flag::SYN | flag::RST | flag::ACK) {
            FIRST => Some(Self::Syn),
            ANSWER => Some(Self::SynAck),
            END => Some(Self::Fin),
            flag::ACK => Some(Self::Ack),
            flag::RST | RESET => Some(Self::Rst),
            _ => None,
        }
    }
}

const FIRST: u8 = flag::SYN;
const ANSWER: u8 = flag::SYN | flag::ACK;
const END: u8 = flag::FIN | flag::ACK;
const RESET: u8 = flag::RST | flag::ACK;

/// Returns the result of a signal in this state and direction.
pub(in crate::connection) const fn next(state: TcpState, signal: Signal, reply: bool) -> Next {
    use Next::{Ignore, Invalid, Reopen, To};
    use TcpState::{
        Close, CloseWait, Established, FinWait, LastAck, None, SynReceived, SynSent, SynSent2,
        TimeWait,
    };
    match (signal, state, reply) {
        (_, None, _) => Invalid,

        // A SYN in the middle is possible if its sender lost the connection: the other end answers with a
        // challenge ACK (RFC 5961, 4).
        (Signal::Syn, SynSent, false) => To(SynSent),
        (Signal::Syn, SynSent, true) => To(SynSent2),
        (Signal::Syn, SynSent2, _) => To(SynSent2),
        (Signal::Syn, TimeWait | Close, _) => Reopen,
        (Signal::Syn, _, false) => Ignore,
        (Signal::Syn, _, true) => Invalid,

        (Signal::SynAck, SynSent, true) => To(SynReceived),
        (Signal::SynAck, SynSent2, _) => To(SynReceived),
        (Signal::SynAck, SynReceived, false) => To(SynReceived),
        (Signal::SynAck, _, true) => Ignore,
        (Signal::SynAck, _, false) => Invalid,

        (Signal::Fin, SynSent | SynSent2, _) => Invalid,
        (Signal::Fin, SynReceived | Established, _) => To(FinWait),
        (Signal::Fin, FinWait | CloseWait | LastAck, _) => To(LastAck),
        (Signal::Fin, TimeWait | Close, _) => To(state),

        // An end with a half-open old connection answers a SYN with an ACK (RFC 9293, 3.5.1).
        (Signal::Ack, SynSent | SynSent2, true) => Ignore,
        (Signal::Ack, SynSent | SynSent2, false) => Invalid,
        (Signal::Ack, SynReceived, true) => To(SynReceived),
        (Signal::Ack, SynReceived | Established, _) => To(Established),
        (Signal::Ack, FinWait | CloseWait, _) => To(CloseWait),
        (Signal::Ack, LastAck | TimeWait, _) => To(TimeWait),
        (Signal::Ack, Close, _) => To(Close),

        (Signal::Rst, _, _) => To(Close),
    }
}
