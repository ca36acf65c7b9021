//! PPTP names a call by a number on either side, which the tunnel's GRE packets carry (RFC 2637).
//!
//! A packet has the number that its receiver gave the call. The two directions of a tunnel therefore
//! have tuples of their own: each is the other's answer. A side that is translated shares its address
//! with others, who may give the same number: then the other side is told another, in all messages
//! that name the call, and GRE packets are renumbered on their way in.
//!
//! | message | sender's own number | the other side's |
//! |---|---|---|
//! | Outgoing-Call-Request, Incoming-Call-Request | at 12 | |
//! | Outgoing-Call-Reply, Incoming-Call-Reply | at 12 | at 14 |
//! | Call-Clear-Request, Call-Disconnect-Notify | at 12 | |
//! | Incoming-Call-Connected, WAN-Error-Notify, Set-Link-Info | | at 12 |

use packet::flow::mix64;
use packet::protocol;

use super::text::Text;
use super::{Expected, Findings, Order, PROBES, Ports, View};
use crate::connection::{Call, Expectation};

const TIMEOUT_SECS: u32 = 300;

/// Control messages begin with a length, a kind of message and this (RFC 2637, 2).
const COOKIE: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];

/// The shortest message that names a call.
const LEN_MIN: usize = 16;

/// The most messages of a segment that are read.
const MESSAGES: usize = 4;

/// The kinds of messages that matter (RFC 2637, 1.4).
mod kind {
    pub(super) const OUTGOING_CALL_REQUEST: u16 = 7;
    pub(super) const OUTGOING_CALL_REPLY: u16 = 8;
    pub(super) const INCOMING_CALL_REQUEST: u16 = 9;
    pub(super) const INCOMING_CALL_REPLY: u16 = 10;
    pub(super) const INCOMING_CALL_CONNECTED: u16 = 11;
    pub(super) const CALL_CLEAR_REQUEST: u16 = 12;
    pub(super) const CALL_DISCONNECT_NOTIFY: u16 = 13;
    pub(super) const WAN_ERROR_NOTIFY: u16 = 14;
    pub(super) const SET_LINK_INFO: u16 = 15;
}

pub(super) fn read(payload: &[u8], view: &View, expected: &dyn Expected) -> Option<Findings> {
    let mut reading = Reading {
        view: *view,
        expected,
        findings: Findings::default(),
    };
    let mut at = 0;
    for _ in 0..MESSAGES {
        let Some(message) = Message::at(payload, at) else {
            break;
        };
        reading.message(&message)?;
        at += message.bytes.len();
    }
    Some(reading.findings)
}

/// A control message.
struct Message<'a> {
    bytes: &'a [u8],
    /// Where it begins in the payload.
    at: usize,
}

impl<'a> Message<'a> {
    /// The message that begins here, if it is all there.
    fn at(payload: &'a [u8], at: usize) -> Option<Self> {
        let rest = payload.get(at..)?;
        let len = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
        let bytes = rest.get(..len).filter(|_| len >= LEN_MIN)?;
        (bytes[2..4] == [0, 1] && bytes[4..8] == COOKIE).then_some(Self { bytes, at })
    }

    /// A number of two bytes, which lies within.
    fn number(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Whether it says that the call is established.
    fn agrees(&self) -> bool {
        use kind::{INCOMING_CALL_REPLY, OUTGOING_CALL_REPLY};
        matches!(self.number(8), OUTGOING_CALL_REPLY | INCOMING_CALL_REPLY)
            && self.bytes.get(16) == Some(&1)
    }
}

struct Reading<'a> {
    view: View,
    expected: &'a dyn Expected,
    findings: Findings,
}

impl Reading<'_> {
    fn message(&mut self, message: &Message<'_>) -> Option<()> {
        let (own_at, peers_at) = match message.number(8) {
            kind::OUTGOING_CALL_REQUEST | kind::INCOMING_CALL_REQUEST => (Some(12), None),
            kind::OUTGOING_CALL_REPLY | kind::INCOMING_CALL_REPLY => (Some(12), Some(14)),
            kind::CALL_CLEAR_REQUEST | kind::CALL_DISCONNECT_NOTIFY => (Some(12), None),
            kind::INCOMING_CALL_CONNECTED | kind::WAN_ERROR_NOTIFY | kind::SET_LINK_INFO => {
                (None, Some(12))
            }
            _ => return Some(()),
        };
        let own = own_at.map(|at| self.own(message, message.number(at)));
        let own = match own {
            Some(call) => Some(call?),
            None => None,
        };
        let peers = peers_at.map(|at| self.peers(message.number(at)));
        let told = own.map(|call| (call.inside, call.outside));
        let heard = peers.map(|call| (call.outside, call.inside));
        for (at, numbers) in [(own_at, told), (peers_at, heard)] {
            if let (Some(at), Some((from, to))) = (at, numbers)
                && from != to
            {
                let at = message.at + at;
                let text = Text::from_bytes(&to.to_be_bytes())?;
                self.findings.edits.push(at..at + 2, text)?;
            }
        }
        match (own, peers) {
            (Some(own), Some(peers)) if message.agrees() => self.agree(own, peers),
            _ => Some(()),
        }
    }

    /// The call to which the sender gave this number: a new one, if it is not known and the message
    /// begins one. None when no number is left for it.
    fn own(&mut self, message: &Message<'_>, inside: u16) -> Option<Call> {
        let reply = self.view.reply;
        let same = Call {
            reply,
            inside,
            outside: inside,
        };
        let ends = matches!(
            message.number(8),
            kind::CALL_CLEAR_REQUEST | kind::CALL_DISCONNECT_NOTIFY
        );
        if let Some(known) = self.view.calls.inside(reply, inside) {
            return Some(known);
        }
        if ends || !self.view.sender_is_translated() {
            return Some(same);
        }
        let others = Order::new(Ports::ALL, mix64(u64::from(inside))).ports();
        let mut numbers = core::iter::once(inside).chain(others).take(PROBES);
        let outside = numbers.find(|outside| {
            let held = held(&self.view, inside, *outside);
            !self.expected.by_another(&held) && !self.expected.is_there(&held.tuple)
        })?;
        let call = Call { outside, ..same };
        self.view.calls.push(call);
        self.findings.calls = Some(self.view.calls);
        self.findings.expect(held(&self.view, inside, outside));
        Some(call)
    }

    /// The call that the sender knows by this number of the other side's.
    fn peers(&self, outside: u16) -> Call {
        let reply = !self.view.reply;
        let known = self.view.calls.outside(reply, outside);
        known.unwrap_or(Call {
            reply,
            inside: outside,
            outside,
        })
    }

    /// Both sides know the call: its packets come from both.
    fn agree(&mut self, own: Call, peers: Call) -> Option<()> {
        let both = [
            direction(&self.view, own, peers),
            direction(&self.view.turned(), peers, own),
        ];
        if both.iter().any(|one| self.expected.by_another(one)) {
            return None;
        }
        // A message that comes again may come behind the tunnel's first packets.
        let missing = both.into_iter();
        let missing = missing.filter(|one| !self.expected.is_there(&one.tuple));
        missing.for_each(|one| self.findings.expect(one));
        Some(())
    }
}

/// Packets to the view's sender, whose call this is. They are answered by packets to the other side,
/// with the number that the sender knows that by.
fn direction(view: &View, own: Call, peers: Call) -> Expectation {
    Expectation {
        answer: Some(peers.outside),
        ..view.expect(protocol::GRE, own.inside, own.outside, TIMEOUT_SECS)
    }
}

/// A number that nobody else is told, until the other side agrees.
fn held(view: &View, inside: u16, outside: u16) -> Expectation {
    Expectation {
        held: true,
        ..view.expect(protocol::GRE, inside, outside, TIMEOUT_SECS)
    }
}
