//! Protocols that name addresses and ports in what they carry (RouterOS `/ip/firewall/service-port`).
//!
//! A helper reads one packet's payload and says two things: which connections are to be expected
//! ([`Expectation`]: a tuple with wildcards, and what becomes of its ends), and which bytes have to
//! be others so that the far side reads an address that means something there ([`Edit`]). It keeps
//! nothing, changes nothing, and reads garbage as nothing. [`treat()`] then changes the packet, and
//! with [`super::Shift`] the numbers of TCP behind it.
//!
//! | helper | reads | expects |
//! |---|---|---|
//! | ftp | `PORT`, `EPRT`; answers 227 and 229 (RFC 959, RFC 2428) | the data connection |
//! | irc | `DCC` | a connection of anybody |
//! | pptp | call messages (RFC 2637) | GRE in both directions, by the calls' numbers |
//! | rtsp | `Transport` (RFC 2326) | streams in both directions |
//! | sip | `Via`, `Contact` and the like; SDP (RFC 3261, RFC 8866) | RTP and RTCP |
//! | tftp | requests (RFC 1350) | an answer from another port |
//!
//! Messages of FTP, IRC, RTSP and SIP may go on in the next segment of TCP: [`rest()`] says what has to be
//! kept of one so that the next is understood, and the next is read together with it. What would have to
//! be edited and has left with the segment before cannot be: such a message passes as it is, nothing is
//! expected by it, and that is said ([`Findings::is_cut`]). Those of PPTP are short, and each is sent by
//! itself. Ports below 1024 are not expected on anybody's word.

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

/// The connection whose payload is read, and which way the payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The connection.
    pub id: EntryId,
    /// What reads it.
    pub helper: Helper,
    /// The tuple of packets in the payload's direction, before they are translated.
    pub forth: Tuple,
    /// The tuple of packets in the other direction, before they are translated.
    pub back: Tuple,
    /// The payload goes against the connection's first packet.
    pub reply: bool,
    /// SIP: streams come from the signalling peer alone (`sip-direct-media`).
    pub direct_media: bool,
    /// PPTP: the calls that were agreed upon already.
    pub calls: Calls,
}

impl View {
    /// Whether the payload's sender is known to the other side by another address or port.
    const fn sender_is_translated(&self) -> bool {
        self.forth.source != self.back.destination
            || self.forth.source_port != self.back.destination_port
    }

    /// Whether this is an address of the payload's sender, as it knows itself or as others know it.
    const fn is_sender(&self, address: u128) -> bool {
        address == self.forth.source || address == self.back.destination
    }

    /// The other direction's, of which nothing was said yet.
    const fn turned(&self) -> Self {
        Self {
            forth: self.back,
            back: self.forth,
            reply: !self.reply,
            ..*self
        }
    }

    /// What comes from the peer, from any port, to a port of the payload's sender: `inside` as the
    /// sender has it, `outside` as the peer is told.
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

    /// The port by which the peer is told of the port `inside`: the same if it can be, else another
    /// that nobody expects anything at. `make` says what would be expected, inside and
    /// outside.
    fn free_port(
        &self,
        inside: u16,
        needs: Needs,
        expected: &dyn Expected,
        make: impl Fn(u16, u16) -> Expectation,
    ) -> Option<u16> {
        // Whoever can make a program say such a port does not open the router's way to a service.
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

    /// What comes from the peer to a port that the sender named.
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

/// What is known of other connections.
pub trait Expected {
    /// Whether what this expectation waits for is another's: that of the same connection, which
    /// leads to the same place, is not, so that a message that comes twice is read alike.
    fn by_another(&self, expectation: &Expectation) -> bool;

    /// Whether a connection has this tuple.
    fn is_there(&self, tuple: &Tuple) -> bool;

    /// The port to which what is expected with this tuple is translated.
    fn leads_to(&self, tuple: &Tuple) -> Option<u16>;
}

impl Expected for Tracker {
    fn by_another(&self, expectation: &Expectation) -> bool {
        self.is_expected_by_another(expectation)
    }

    fn is_there(&self, tuple: &Tuple) -> bool {
        self.lookup(tuple).is_some()
    }

    fn leads_to(&self, tuple: &Tuple) -> Option<u16> {
        self.expected_port(tuple)
    }
}

/// The most ports that are tried for an expectation.
const PROBES: usize = 128;

/// From where an expected connection may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// From the peer.
    Peer,
    /// From anywhere; then the peer is nobody to be shown as somebody else.
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

/// How many ports an expectation needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    One,
    /// RTP, and RTCP at the port behind it (RFC 3550, 11).
    Two,
}

/// The most expectations of one packet.
pub const EXPECTATIONS: usize = 8;

/// What a payload means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Which bytes become others, in the payload's order.
    pub edits: Edits,
    /// PPTP: the calls, when there are more now.
    pub calls: Option<Calls>,
    expectations: [Option<Expectation>; EXPECTATIONS],
}

impl Findings {
    /// Nothing yet, in a text of which so many bytes have left already.
    fn behind(gone: usize) -> Self {
        Self {
            edits: Edits::behind(gone),
            ..Self::default()
        }
    }

    /// Whether a message was not carried out because a part that had to be another has left already.
    pub const fn is_cut(&self) -> bool {
        self.edits.is_cut()
    }

    /// Adds what was found in a part of the same payload, which begins at this byte.
    pub fn append(&mut self, part: &Self, from: usize) {
        let before = *self;
        if self.edits.append(&part.edits, from).is_none() {
            self.take_back(&before);
            self.edits.mark_cut();
            return;
        }
        self.calls = part.calls.or(self.calls);
        for expectation in part.expectations() {
            self.expect(*expectation);
        }
    }

    /// Takes back what a message began and cannot end.
    fn take_back(&mut self, before: &Self) {
        let is_cut = self.is_cut();
        *self = *before;
        if is_cut {
            self.edits.mark_cut();
        }
    }

    /// What is to be expected.
    pub fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        self.expectations.iter().flatten()
    }

    /// Nothing is said when there is no room.
    fn expect(&mut self, expectation: Expectation) {
        if let Some(place) = self.expectations.iter_mut().find(|place| place.is_none()) {
            *place = Some(expectation);
        }
    }
}

/// Reads a text with its connection's helper: the payload of a packet, behind as many bytes as `gone` that
/// were kept of what came before it. Edits are in the payload.
pub fn read(text: &[u8], gone: usize, view: &View, expected: &dyn Expected) -> Findings {
    let mut findings = Findings::behind(gone);
    match view.helper {
        Helper::Ftp => ftp::read(text, view, expected, &mut findings),
        Helper::Irc => irc::read(text, view, expected, &mut findings),
        Helper::Rtsp => rtsp::read(text, view, expected, &mut findings),
        Helper::Sip => sip::read(text, view, expected, &mut findings),
        Helper::Pptp => return pptp::read(text, view, expected).unwrap_or_default(),
        Helper::Tftp => return tftp::read(text, view).unwrap_or_default(),
        // RouterOS: reads H.323 as well.
        Helper::None | Helper::H323 | Helper::Quake3 => {}
    }
    findings
}

/// What has to be kept of a text so that the payload behind it is understood, in two parts; nothing of
/// datagrams. Bounded: 4,096 bytes of SIP, two lines of 512 of the others.
pub fn rest<'a>(text: &'a [u8], view: &View) -> [&'a [u8]; 2] {
    const NOTHING: &[u8] = &[];
    match view.helper {
        _ if view.forth.protocol != protocol::TCP => [NOTHING; 2],
        Helper::Ftp => [ftp::rest(text), NOTHING],
        Helper::Irc => [irc::rest(text), NOTHING],
        Helper::Rtsp => rtsp::rest(text),
        Helper::Sip => [sip::rest(text), NOTHING],
        _ => [NOTHING; 2],
    }
}
