//! Helpers for protocols that carry addresses and ports in their payload (RouterOS
//! `/ip/firewall/service-port`).
//!
//! A helper reads one packet's payload and returns the connections to expect ([`Expectation`]: a tuple with
//! wildcards and a translation) and the edits that replace inside addresses by outside ones ([`Edit`]). A
//! helper has no state, changes nothing, and ignores malformed input. [`treat()`] applies the edits to the
//! packet, and [`super::Shift`] adjusts the TCP sequence numbers of later segments.
//!
//! | helper | reads | expects |
//! |---|---|---|
//! | ftp | `PORT`, `EPRT`; replies 227 and 229 (RFC 959, RFC 2428) | the data connection |
//! | irc | `DCC` | a connection from any host |
//! | pptp | call messages (RFC 2637) | GRE in both directions, by call ID |
//! | rtsp | `Transport` (RFC 2326) | streams in both directions |
//! | sip | `Via`, `Contact` and the like; SDP (RFC 3261, RFC 8866) | RTP and RTCP |
//! | tftp | requests (RFC 1350) | a reply from another port |
//!
//! Messages of FTP, IRC, RTSP and SIP may continue in the next TCP segment: [`rest()`] returns the text to
//! keep, and the next segment is read together with it. Bytes that were forwarded with the earlier segment
//! can no longer be edited: such a message passes unchanged, adds no expectation, and is reported
//! ([`Findings::is_cut`]). PPTP messages are short and sent one per segment. Ports below 1024 are never
//! expected.

mod edit;
mod ftp;
mod irc;
mod pptp;
mod rtsp;
mod services;
mod sip;
#[cfg(test)]
mod tests;
mod text;
mod tftp;
mod treat;

use packet::flow::mix64;
use packet::{Tuple, protocol};

pub use edit::{EDITS, Edit, Edits, edit};
pub use services::{Services, has_code};
pub use text::Text;
pub use treat::{Shifts, number, payload, treat};

use super::choose::Order;
use super::target::Ports;
use crate::connection::{Calls, EntryId, Expectation, Helper, Tracker};

/// The connection of a payload and the payload's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The connection.
    pub id: EntryId,
    /// The helper that reads the payload.
    pub helper: Helper,
    /// The tuple of packets in the payload's direction before translation.
    pub forth: Tuple,
    /// The tuple of packets in the other direction before translation.
    pub back: Tuple,
    /// True if the payload travels in the reply direction.
    pub reply: bool,
    /// SIP: media streams come from the signalling peer only (`sip-direct-media`).
    pub direct_media: bool,
    /// PPTP: the calls announced so far.
    pub calls: Calls,
}

impl View {
    /// Returns true if the payload's sender has another address or port on the other side.
    const fn sender_is_translated(&self) -> bool {
        self.forth.source != self.back.destination
            || self.forth.source_port != self.back.destination_port
    }

    /// Returns true if this is the sender's address, before or after translation.
    const fn is_sender(&self, address: u128) -> bool {
        address == self.forth.source || address == self.back.destination
    }

    /// Returns the view of the other direction.
    const fn turned(&self) -> Self {
        Self {
            forth: self.back,
            back: self.forth,
            reply: !self.reply,
            ..*self
        }
    }

    /// Returns an expectation from any port of the peer to a port of the payload's sender: `inside` is the
    /// sender's own port, `outside` the port announced to the peer.
    fn expect(&self, protocol: u8, inside: u16, outside: u16, timeout_secs: u32) -> Expectation {
        Expectation {
            tuple: Tuple {
                source_port: 0,
                destination_port: outside,
                protocol,
                ..self.back
            },
            parent: self.id,
            helper: self.helper,
            destination: Some((self.forth.source, inside)),
            source: Some(self.forth.destination),
            answer: None,
            timeout_secs,
            held: false,
        }
    }

    /// Returns the port to announce to the peer for the sender's port `inside`: the same if possible, else
    /// another that nobody expects. `make` builds the expectation for an inside and an outside port.
    fn free_port(
        &self,
        inside: u16,
        needs: Needs,
        expected: &dyn Expected,
        make: impl Fn(u16, u16) -> Expectation,
    ) -> Option<u16> {
        // A message that an attacker may have provoked must not open a port of a service.
        if inside < 1024 || (needs == Needs::Two && inside == u16::MAX) {
            return None;
        }
        if !self.sender_is_translated() {
            return Some(inside);
        }
        let free = |outside: u16| match needs {
            Needs::One => !expected.by_another(&make(inside, outside)),
            Needs::Two => {
                outside % 2 == inside % 2
                    && outside != u16::MAX
                    && !expected.by_another(&make(inside, outside))
                    && !expected.by_another(&make(inside + 1, outside + 1))
            }
        };
        let others = Order::new(Ports::class(inside), mix64(u64::from(inside))).ports();
        let mut tried = core::iter::once(inside).chain(others).take(PROBES);
        tried.find(|outside| free(*outside))
    }

    /// Returns a TCP expectation for a port that the sender announced.
    fn expect_tcp(
        &self,
        inside: u16,
        timeout_secs: u32,
        from: From,
        expected: &dyn Expected,
    ) -> Option<Expectation> {
        let make =
            |inside, outside| from.widen(self.expect(protocol::TCP, inside, outside, timeout_secs));
        let outside = self.free_port(inside, Needs::One, expected, make)?;
        Some(make(inside, outside))
    }
}

/// Queries about other connections and expectations.
pub trait Expected {
    /// Returns true if another connection expects the same tuple. An equal expectation of the same connection
    /// does not count, so that a retransmitted message gets the same result.
    fn by_another(&self, expectation: &Expectation) -> bool;

    /// Returns the tuple of the other direction of the connection that has this tuple.
    fn answers(&self, tuple: &Tuple) -> Option<Tuple>;

    /// Returns the inside port of the expectation with this tuple.
    fn leads_to(&self, tuple: &Tuple) -> Option<u16>;
}

impl Expected for Tracker {
    fn by_another(&self, expectation: &Expectation) -> bool {
        self.is_expected_by_another(expectation)
    }

    fn answers(&self, tuple: &Tuple) -> Option<Tuple> {
        let way = self.lookup(tuple)?;
        Some(self.tuple(way.reversed()))
    }

    fn leads_to(&self, tuple: &Tuple) -> Option<u16> {
        self.expected_port(tuple)
    }
}

/// Maximum number of ports tried per expectation.
const PROBES: usize = 128;

/// Permitted sources of an expected connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Only the peer.
    Peer,
    /// Any host; the source is then not translated.
    Anywhere,
}

impl From {
    fn widen(self, expectation: Expectation) -> Expectation {
        match self {
            Self::Peer => expectation,
            Self::Anywhere => Expectation {
                tuple: Tuple {
                    source: 0,
                    ..expectation.tuple
                },
                source: None,
                ..expectation
            },
        }
    }
}

/// Number of ports that an expectation needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    One,
    /// RTP, and RTCP on the next port (RFC 3550, 11).
    Two,
}

/// Maximum number of expectations per packet.
pub const EXPECTATIONS: usize = 8;

/// Result of reading a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The edits, in order of position.
    pub edits: Edits,
    /// PPTP: the updated list of calls, if it changed.
    pub calls: Option<Calls>,
    /// PPTP: connections of earlier calls with the numbers of a new one.
    outlived: [Option<Tuple>; 2],
    expectations: [Option<Expectation>; EXPECTATIONS],
}

impl Findings {
    /// Creates an empty result for a text whose first `gone` bytes were already forwarded.
    fn behind(gone: usize) -> Self {
        Self {
            edits: Edits::behind(gone),
            ..Self::default()
        }
    }

    /// Returns true if a message was ignored because an edit would touch bytes that were already forwarded.
    pub const fn is_cut(&self) -> bool {
        self.edits.is_cut()
    }

    /// Adds the result for a part of the same payload, which begins at `from`.
    pub fn append(&mut self, part: &Self, from: usize) {
        let before = *self;
        if self.edits.append(&part.edits, from).is_none() {
            self.take_back(&before);
            self.edits.mark_cut();
            return;
        }
        self.calls = part.calls.or(self.calls);
        for (outlived, tuple) in self.outlived.iter_mut().zip(part.outlived) {
            *outlived = tuple.or(*outlived);
        }
        for expectation in part.expectations() {
            self.expect(*expectation);
        }
    }

    /// Undoes the partial result of a message that could not be completed.
    fn take_back(&mut self, before: &Self) {
        let is_cut = self.is_cut();
        *self = *before;
        if is_cut {
            self.edits.mark_cut();
        }
    }

    /// Returns the tuples of connections to remove before others are expected.
    pub fn outlived(&self) -> impl Iterator<Item = &Tuple> {
        self.outlived.iter().flatten()
    }

    /// Returns the connections to expect.
    pub fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        self.expectations.iter().flatten()
    }

    /// Adds an expectation; drops it if there is no room.
    fn expect(&mut self, expectation: Expectation) {
        if let Some(place) = self.expectations.iter_mut().find(|place| place.is_none()) {
            *place = Some(expectation);
        }
    }
}

/// Reads a text with its connection's helper: the packet's payload after `gone` bytes that were kept from
/// earlier segments. The returned edits refer to the payload.
pub fn read(text: &[u8], gone: usize, view: &View, expected: &dyn Expected) -> Findings {
    let mut findings = Findings::behind(gone);
    match view.helper {
        Helper::Ftp => ftp::read(text, view, expected, &mut findings),
        Helper::Irc => irc::read(text, view, expected, &mut findings),
        Helper::Rtsp => rtsp::read(text, view, expected, &mut findings),
        Helper::Sip => sip::read(text, view, expected, &mut findings),
        Helper::Pptp => return pptp::read(text, view, expected).unwrap_or_default(),
        Helper::Tftp => return tftp::read(text, view).unwrap_or_default(),
        // RouterOS has a helper for H.323 as well.
        Helper::None | Helper::H323 | Helper::Quake3 => {}
    }
    findings
}

/// Returns the text, in two parts, to keep for the next segment; empty for datagrams. At most 4,096 bytes for
/// SIP and two lines of 512 bytes for the others.
pub fn rest<'a>(text: &'a [u8], view: &View) -> [&'a [u8]; 2] {
    const EMPTY: &[u8] = &[];
    match view.helper {
        _ if view.forth.protocol != protocol::TCP => [EMPTY; 2],
        Helper::Ftp => [ftp::rest(text), EMPTY],
        Helper::Irc => [irc::rest(text), EMPTY],
        Helper::Rtsp => rtsp::rest(text),
        Helper::Sip => [sip::rest(text), EMPTY],
        _ => [EMPTY; 2],
    }
}
