//! Differences between ARP and neighbour discovery: packet formats and constants.

use core::fmt::Debug;
use core::net::Ipv6Addr;

use machine::Duration;
use wire::Mac;

use super::Question;
use crate::Frame;

/// Neighbour protocol of an address family: encoding, parsing and timing.
pub trait Family: Copy + Debug {
    /// Address type.
    type Address: Copy + Ord + Debug;

    /// Number of probes of duplicate address detection.
    const PROBES: u8;
    /// Minimum interval between two probes.
    const PROBE_GAP_MIN: Duration;
    /// Maximum interval between two probes.
    const PROBE_GAP_MAX: Duration;
    /// Time from the last probe until the address is valid.
    const PROBE_WAIT: Duration;
    /// Number of announcements of a new address.
    const ANNOUNCEMENTS: u8;
    /// Interval between announcements.
    const ANNOUNCE_GAP: Duration;
    /// Time after a change of a link-layer address in which only gratuitous messages may change it again, so that the
    /// first of several answers wins.
    const LOCK_TIME: Duration;
    /// Whether an address in use is defended against other hosts.
    const DEFENDS: bool;
    /// Whether solicitations use a link-local source if there is one.
    const ASKS_FROM_LINK_LOCAL: bool;
    /// Whether solicitations for addresses of other interfaces are passed to the owner.
    const PASSES_QUESTIONS: bool;

    /// Parses a packet of the protocol.
    ///
    /// # Errors
    /// Returns why the packet is ignored.
    fn parse(packet: &[u8], own_mac: Mac) -> Result<Contents<Self::Address>, ParseError>;

    /// Builds a solicitation for `target`: multicast, or unicast to its last known MAC address.
    ///
    /// Returns `None` if the family requires a source address and there is none.
    fn solicit(
        own_mac: Mac,
        source: Option<Self::Address>,
        target: Self::Address,
        to: Option<Mac>,
    ) -> Option<Frame>;

    /// Builds a probe for `target`, which is not assigned yet.
    fn probe(own_mac: Mac, target: Self::Address) -> Frame;

    /// Builds an announcement of `address`.
    fn announce(own_mac: Mac, address: Self::Address, router: bool) -> Frame;

    /// Builds the answer to a solicitation.
    fn answer(own_mac: Mac, question: &Question<Self::Address>, router: bool) -> Frame;

    /// Builds the answer for an anycast target, from the unicast address `source`.
    fn answer_shared(
        own_mac: Mac,
        source: Self::Address,
        question: &Question<Self::Address>,
        router: bool,
    ) -> Frame;

    /// Subnet-router anycast address of this address's network; `None` if the family has none.
    fn anycast(address: Self::Address, len: u8) -> Option<Self::Address>;

    /// Multicast group for solicitations of `address`; `None` if there is none to join.
    fn group(address: Self::Address) -> Option<Ipv6Addr>;

    /// True for a unicast address.
    fn is_unicast(address: Self::Address) -> bool;

    /// True for a link-local address.
    fn is_link_local(address: Self::Address) -> bool;

    /// Keeps the first `len` bits of the address (at most its width) and clears the others.
    fn mask(address: Self::Address, len: u8) -> Self::Address;

    /// True if `address` is a host address in `prefix` (in IPv4 neither first nor last).
    fn is_host(address: Self::Address, prefix: Prefix<Self::Address>) -> bool;
}

/// Network prefix; the bits after `len` are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix<A> {
    /// First address.
    pub network: A,
    /// Prefix length.
    pub len: u8,
}

/// Contents of a received packet, independent of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents<A> {
    /// Solicitation (ARP request).
    Asks {
        /// Solicited address.
        target: A,
        /// Source address; `None` is a probe.
        asker: Option<A>,
        /// Link-layer address of the sender.
        mac: Option<Mac>,
    },
    /// Advertisement (ARP reply).
    Says {
        /// Advertised address.
        address: A,
        /// Link-layer address.
        mac: Option<Mac>,
        /// Flags.
        advert: Advert,
    },
    /// Source link-layer address in another message (router discovery).
    Names {
        /// Address of the sender.
        address: A,
        /// Link-layer address of the sender.
        mac: Mac,
        /// The sender is a router.
        router: bool,
    },
    /// A valid packet without neighbour information.
    Nothing,
}

/// Flags of an advertisement (RFC 4861, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advert {
    /// Answers a solicitation of this router.
    pub solicited: bool,
    /// Replaces the known link-layer address.
    pub overrides: bool,
    /// Unsolicited announcement (gratuitous ARP).
    pub gratuitous: bool,
    /// The sender is a router; `None` if the protocol does not tell.
    pub router: Option<bool>,
}

/// Reason why a packet is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Malformed.
    Malformed,
    /// Violates a validation rule (RFC 4861, 7.1; RFC 1812, 3.3.2).
    Invalid,
}
