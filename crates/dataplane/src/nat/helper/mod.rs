//! Protocols that name addresses and ports in what they carry (RouterOS `/ip/firewall/service-port`).
//!
//! A helper reads one packet's payload and says two things: which connections are to be expected
//! ([`Expectation`]: a tuple with wildcards, and what becomes of its ends), and which bytes have to
//! be others so that the far side reads an address that means something there ([`Edit`]). It keeps
//! nothing, changes nothing, and reads garbage as nothing. [`edit()`] then changes the packet, and
//! [`super::Shift`] the numbers of TCP behind it; [`treat()`] is all of that for one packet.
//!
//! | helper | reads | expects |
//! |---|---|---|
//! | ftp | `PORT`, `EPRT`; answers 227 and 229 (RFC 959, RFC 2428) | the data connection |
//! | irc | `DCC` | a connection of anybody |
//! | pptp | call messages (RFC 2637) | GRE in both directions, by its call ids |
//! | sip | `Via`, `Contact` and the like; SDP (RFC 3261, RFC 8866) | RTP and RTCP |
//! | tftp | requests (RFC 1350) | an answer from another port |
//!
//! A message that is cut by a segment's end is not recognised, and ports below 1024 are not expected
//! on anybody's word.

mod edit;
mod ftp;
mod irc;
mod pptp;
mod sip;
#[cfg(test)]
mod tests;
mod text;
mod tftp;
mod treat;

pub use edit::{EDITS, Edit, Edits, edit};
pub use sip::TIMEOUT_S as SIP_TIMEOUT_S;
pub use text::Text;
pub use treat::{Shifts, treat};

use super::choose::Order;
use super::target::Ports;
use crate::flow::mix64;
use crate::packet::{Tuple, protocol};

/// A protocol whose payload is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Helper {
    /// The file transfer's control connection.
    Ftp,
    /// Chat, of which clients connect to each other directly.
    Irc,
    /// The tunnel's control connection.
    Pptp,
    /// Telephony's signalling over UDP.
    Sip,
    /// The trivial file transfer.
    Tftp,
}

impl Helper {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 5] = [Self::Ftp, Self::Irc, Self::Pptp, Self::Sip, Self::Tftp];

    /// The name in `service-port` and `connection-type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ftp => "ftp",
            Self::Irc => "irc",
            Self::Pptp => "pptp",
            Self::Sip => "sip",
            Self::Tftp => "tftp",
        }
    }
}

/// The connection whose payload is read, and which way the payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The tuple of packets in the payload's direction, before they are translated.
    pub forth: Tuple,
    /// The tuple of packets in the other direction, before they are translated.
    pub back: Tuple,
    /// The payload goes against the connection's first packet.
    pub reply: bool,
    /// SIP: streams come from the signalling peer alone (`sip-direct-media`).
    pub direct_media: bool,
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

    /// What comes from the peer, from any port, to a port of the payload's sender: `inside` as the
    /// sender has it, `outside` as the peer is told.
    fn expect(&self, protocol: u8, inside: u16, outside: u16, lifetime_s: u16) -> Expectation {
        Expectation {
            tuple: Tuple {
                source_port: 0,
                destination_port: outside,
                protocol,
                ..self.back
            },
            any_source: false,
            any_source_port: true,
            source: self.forth.destination,
            destination: self.forth.source,
            destination_port: inside,
            answer: None,
            lifetime_s,
        }
    }

    /// The port by which the peer is told of the port `inside`: the same if it can be, else another
    /// that nobody expects anything at. `make` says what would be expected there.
    fn free_port(
        &self,
        inside: u16,
        needs: Needs,
        expected: &dyn Expected,
        make: impl Fn(u16) -> Expectation,
    ) -> Option<u16> {
        // Whoever can make a program say such a port does not open the router's way to a service.
        if inside < 1024 || (needs == Needs::Two && inside == u16::MAX) {
            return None;
        }
        if !self.sender_is_translated() {
            return Some(inside);
        }
        let free = |outside: u16| match needs {
            Needs::One => !expected.by_another(&make(outside)),
            Needs::Two => {
                let behind = Expectation {
                    destination_port: inside + 1,
                    ..make(outside.saturating_add(1))
                };
                outside % 2 == inside % 2
                    && outside != u16::MAX
                    && !expected.by_another(&make(outside))
                    && !expected.by_another(&behind)
            }
        };
        let order = Order::new(Ports::class(inside), mix64(u64::from(inside)));
        let other = || order.find(PROBES, |outside| free(outside).then_some(outside));
        free(inside).then_some(inside).or_else(other)
    }

    /// What comes from the peer to a port that the sender named.
    fn expect_tcp(
        &self,
        inside: u16,
        lifetime_s: u16,
        any_source: bool,
        expected: &dyn Expected,
    ) -> Option<Expectation> {
        let make = |outside| Expectation {
            any_source,
            ..self.expect(protocol::TCP, inside, outside, lifetime_s)
        };
        self.free_port(inside, Needs::One, expected, make).map(make)
    }
}

/// Who is expected already.
pub trait Expected {
    /// Whether what this expectation waits for is another's: an equal one is not, so that a message
    /// that comes twice is read alike.
    fn by_another(&self, expectation: &Expectation) -> bool;
}

/// The most ports that are tried for an expectation.
const PROBES: u32 = 128;

/// How many ports an expectation needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    One,
    /// RTP, and RTCP at the port behind it (RFC 3550, 11).
    Two,
}

/// A connection that will come because this one said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The tuple of its first packet as it comes.
    pub tuple: Tuple,
    /// It may come from any address.
    pub any_source: bool,
    /// It may come from any port.
    pub any_source_port: bool,
    /// What its source address becomes; nothing when it may come from any.
    pub source: u128,
    /// What its destination address becomes.
    pub destination: u128,
    /// What its destination port becomes.
    pub destination_port: u16,
    /// What answers have as their destination port where that is not its source port (GRE).
    pub answer: Option<u16>,
    /// How long it is waited for, in seconds.
    pub lifetime_s: u16,
}

impl Expectation {
    /// Whether a packet is the one.
    pub fn matches(&self, tuple: &Tuple) -> bool {
        let wild = Tuple {
            source: if self.any_source {
                self.tuple.source
            } else {
                tuple.source
            },
            source_port: match self.any_source_port {
                true => self.tuple.source_port,
                false => tuple.source_port,
            },
            ..*tuple
        };
        wild == self.tuple
    }

    /// What becomes of its first packet.
    pub fn translated(&self, tuple: &Tuple) -> Tuple {
        Tuple {
            source: if self.any_source {
                tuple.source
            } else {
                self.source
            },
            destination: self.destination,
            destination_port: self.destination_port,
            ..*tuple
        }
    }

    /// The tuple of its answers, when it leaves like this.
    pub fn reply(&self, translated: &Tuple) -> Tuple {
        let reversed = translated.reversed();
        match self.answer {
            None => reversed,
            Some(answer) => Tuple {
                source_port: 0,
                destination_port: answer,
                ..reversed
            },
        }
    }
}

/// The most expectations of one packet.
pub const EXPECTATIONS: usize = 8;

/// What a payload means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Which bytes become others, in the payload's order.
    pub edits: Edits,
    expectations: [Option<Expectation>; EXPECTATIONS],
}

impl Findings {
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

/// Reads the payload of a packet of a connection with this helper.
pub fn read(helper: Helper, payload: &[u8], view: &View, expected: &dyn Expected) -> Findings {
    let found = match helper {
        Helper::Ftp => ftp::read(payload, view, expected),
        Helper::Irc => irc::read(payload, view, expected),
        Helper::Pptp => pptp::read(payload, view, expected),
        Helper::Sip => sip::read(payload, view, expected),
        Helper::Tftp => tftp::read(payload, view),
    };
    found.unwrap_or_default()
}
