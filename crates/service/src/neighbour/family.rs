//! What tells ARP and neighbour discovery apart: packets and constants.

use core::fmt::Debug;
use core::net::Ipv6Addr;

use machine::Duration;
use wire::Mac;

use super::Question;
use crate::Frame;

/// An address family's protocol: how it speaks, what it hears, how patient it is.
pub trait Family: Copy + Debug {
    /// An address of the family.
    type Address: Copy + Ord + Debug;

    /// Probes of duplicate detection, and how far apart they are at least and at most; after the
    /// last one follows `PROBE_WAIT`.
    const PROBES: u8;
    /// The least time between two probes.
    const PROBE_GAP_MIN: Duration;
    /// The greatest time between two probes.
    const PROBE_GAP_MAX: Duration;
    /// From the last probe until the address is ours.
    const PROBE_WAIT: Duration;
    /// How often a new address is announced.
    const ANNOUNCEMENTS: u8;
    /// Between announcements.
    const ANNOUNCE_GAP: Duration;
    /// For how long after a change of a link address others that do not announce themselves are not
    /// believed: where several answer for one address, the first wins.
    const LOCK_TIME: Duration;
    /// Whether an address in use is defended when another station claims it.
    const DEFENDS: bool;
    /// Whether questions are asked with a link-local address where there is one.
    const ASKS_FROM_LINK_LOCAL: bool;
    /// Whether questions for addresses of other interfaces are passed to the owner.
    const PASSES_QUESTIONS: bool;

    /// Reads a packet of the protocol.
    ///
    /// # Errors
    /// What is not to be believed; it is counted.
    fn hear(packet: &[u8], own_mac: Mac) -> Result<Heard<Self::Address>, Unheard>;

    /// A question for `target` to all, or to one station that is thought to have it.
    ///
    /// `None` where the family cannot ask without a source address.
    fn solicit(
        own_mac: Mac,
        source: Option<Self::Address>,
        target: Self::Address,
        to: Option<Mac>,
    ) -> Option<Frame>;

    /// A question whether anybody has `target`, which is not ours yet.
    fn probe(own_mac: Mac, target: Self::Address) -> Frame;

    /// Tells all that we have `address`.
    fn announce(own_mac: Mac, address: Self::Address, router: bool) -> Frame;

    /// Tells the asker that the target is here.
    fn answer(own_mac: Mac, question: &Question<Self::Address>, router: bool) -> Frame;

    /// The same of a target that others have as well, from an address that is ours alone.
    fn answer_shared(
        own_mac: Mac,
        source: Self::Address,
        question: &Question<Self::Address>,
        router: bool,
    ) -> Frame;

    /// The address that all routers of this address's network have besides; none where there is no such thing.
    fn anycast(address: Self::Address, len: u8) -> Option<Self::Address>;

    /// The group on which questions for `address` arrive, if it is to be joined.
    fn group(address: Self::Address) -> Option<Ipv6Addr>;

    /// Whether a single station can have the address.
    fn is_unicast(address: Self::Address) -> bool;

    /// Whether the address is valid on one link only.
    fn is_link_local(address: Self::Address) -> bool;

    /// The first `len` bits of the address (at most its width), the others zero.
    fn mask(address: Self::Address, len: u8) -> Self::Address;

    /// Whether `address` can be a station of the network `prefix` (in IPv4 not its first and last).
    fn is_host(address: Self::Address, prefix: Prefix<Self::Address>) -> bool;
}

/// A network: an address of which the bits behind `len` are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix<A> {
    /// The network's first address.
    pub network: A,
    /// Bits that all of its addresses share.
    pub len: u8,
}

/// A packet of either protocol, reduced to what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<A> {
    /// Where is `target`?
    Asks {
        /// The address sought.
        target: A,
        /// Who asks; `None` is a probe before use.
        asker: Option<A>,
        /// The link address that he states.
        mac: Option<Mac>,
    },
    /// `address` is here.
    Says {
        /// The address.
        address: A,
        /// The link address that is stated.
        mac: Option<Mac>,
        /// In what manner.
        advert: Advert,
    },
    /// A station names itself while it talks of something else (router discovery).
    Names {
        /// The station.
        address: A,
        /// Its link address.
        mac: Mac,
        /// Whether this shows it to be a router.
        router: bool,
    },
    /// Valid, and nothing that is of interest here.
    Nothing,
}

/// In what manner a station says that it has an address (RFC 4861, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advert {
    /// It answers a question of ours.
    pub solicited: bool,
    /// It replaces what is known.
    pub overrides: bool,
    /// The station announces itself to all (gratuitous ARP).
    pub gratuitous: bool,
    /// Whether it is a router, where the protocol tells.
    pub router: Option<bool>,
}

/// Why a packet is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// It cannot be read.
    Malformed,
    /// It breaks a rule of validation (RFC 4861, 7.1; RFC 1812, 3.3.2).
    Invalid,
}
