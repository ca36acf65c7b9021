//! The table of states (RFC 9293, 3.3.2, seen from between both ends).
//!
//! An end may have lost what the middle saw, and the other way round; so a flag that does not fit
//! is either let through without belief (`Ignore`) or invalid, and only what the ends would accept
//! moves the state.

use super::segment::{Segment, flag};
use crate::connection::TcpState;

/// What a segment's flags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum Signal {
    Syn,
    SynAck,
    Fin,
    Ack,
    Rst,
}

/// Where a signal leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum Next {
    /// To this state.
    To(TcpState),
    /// Nowhere; the ends will sort it out.
    Ignore,
    /// It cannot be part of the connection.
    Invalid,
    /// The connection is over, and this begins another between the same ports.
    Reopen,
}

impl Signal {
    /// What the flags say; none for combinations that no TCP sends (RFC 9293, 3.10.7): those scans
    /// and evasions are made of.
    pub(in crate::connection) const fn of(segment: &Segment) -> Option<Self> {
        // URG, PSH, and the bits of congestion notification (RFC 3168) may come with any.
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

/// Where a signal leads that came in this direction.
pub(in crate::connection) const fn next(state: TcpState, signal: Signal, reply: bool) -> Next {
    use Next::{Ignore, Invalid, Reopen, To};
    use TcpState::{
        Close, CloseWait, Established, FinWait, LastAck, None, SynReceived, SynSent, SynSent2,
        TimeWait,
    };
    match (signal, state, reply) {
        (_, None, _) => Invalid,

        // A SYN in the middle may be true if its sender forgot the connection: the other end
        // answers with what tells (RFC 5961, 4).
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

        // An end with half of an old connection answers a SYN with an ACK (RFC 9293, 3.5.1).
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
