//! PPTP: each side assigns a call ID, which the tunnel's GRE packets carry (RFC 2637).
//!
//! A GRE packet carries the call ID that its receiver assigned. The two directions of a tunnel therefore have
//! different tuples. Several hosts behind one NAT address may assign the same call ID; the peer is then told
//! another ID in all messages that name the call, and GRE packets from the peer get the original ID back.
//!
//! | message | sender's call ID | peer's call ID |
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

/// The magic cookie of control messages, after length and message type (RFC 2637, 2).
const COOKIE: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];

/// Length of the shortest message that names a call.
const LEN_MIN: usize = 16;

/// Maximum number of messages read per segment.
const MESSAGES: usize = 4;

/// The message types that the helper reads (RFC 2637, 1.4).
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

/// A control message and its offset in the payload.
struct Message<'a> {
    bytes: &'a [u8],
    /// Offset of the message in the payload.
    at: usize,
}

impl<'a> Message<'a> {
    /// Parses the message at `at`; `None` if it is incomplete.
    fn at(payload: &'a [u8], at: usize) -> Option<Self> {
        let rest = payload.get(at..)?;
        let len = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
        let bytes = rest.get(..len).filter(|_| len >= LEN_MIN)?;
        (bytes[2..4] == [0, 1] && bytes[4..8] == COOKIE).then_some(Self { bytes, at })
    }

    /// Returns a 16-bit field within the message.
    fn number(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Returns true if the message says that the call is established.
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

    /// Returns the call to which the sender assigned `inside`. Creates it if it is unknown and the message
    /// begins a call. Returns `None` if no free call ID is left.
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
            !self.expected.by_another(&held) && self.expected.answers(&held.tuple).is_none()
        })?;
        let call = Call { outside, ..same };
        self.view.calls.push(call);
        self.findings.calls = Some(self.view.calls);
        self.findings.expect(held(&self.view, inside, outside));
        Some(call)
    }

    /// Returns the call that the sender knows by the peer's call ID `outside`.
    fn peers(&self, outside: u16) -> Call {
        let reply = !self.view.reply;
        let known = self.view.calls.outside(reply, outside);
        known.unwrap_or(Call {
            reply,
            inside: outside,
            outside,
        })
    }

    /// Expects GRE packets of both directions once both sides know the call.
    fn agree(&mut self, own: Call, peers: Call) -> Option<()> {
        let both = [
            direction(&self.view, own, peers),
            direction(&self.view.turned(), peers, own),
        ];
        if both.iter().any(|one| self.expected.by_another(one)) {
            return None;
        }
        for (number, one) in both.into_iter().enumerate() {
            match self.expected.answers(&one.tuple) {
                // A retransmitted message may arrive after the first packets of the tunnel.
                Some(back) if Some(back.destination_port) == one.answer => {}
                // A server gives the number of a call again, whose GRE packets are still tracked.
                Some(_) => {
                    self.findings.outlived[number] = Some(one.tuple);
                    self.findings.expect(one);
                }
                None => self.findings.expect(one),
            }
        }
        Some(())
    }
}

/// Returns the expectation of GRE packets to the view's sender; replies carry the call ID that the sender
/// knows for the peer.
fn direction(view: &View, own: Call, peers: Call) -> Expectation {
    Expectation {
        answer: Some(peers.outside),
        ..view.expect(protocol::GRE, own.inside, own.outside, TIMEOUT_SECS)
    }
}

/// Returns a reservation of a call ID until the peer agrees to the call.
fn held(view: &View, inside: u16, outside: u16) -> Expectation {
    Expectation {
        held: true,
        ..view.expect(protocol::GRE, inside, outside, TIMEOUT_SECS)
    }
}
