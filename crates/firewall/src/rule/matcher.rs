//! Every matcher of RouterOS's rules, as compiled: names are numbers, lists are shared.
//!
//! A matcher asks one thing of a packet. Where the packet does not have it (ports of a later
//! fragment, flags of what is not TCP, a connection's bytes where there is no connection), the
//! matcher fails, negated or not: RouterOS's engine does so for ports, and what it does elsewhere
//! is not known; to fail is what a rule's author sees when he reads "dst-port is not 80".

use std::sync::Arc;

use conntrack::connection::{Helper, NatState, States};
use packet::Tuple;
use wire::Mac;

use super::address::{AddressRange, AddressTypes, Class, ClassSet};
use super::limit::{ConnectionLimit, DstLimit, Limit, Nth, Psd};
use super::link::LinkMatch;
use super::list::List;
use super::shared::fold;
use super::stream::{Glob, Layer7};
use super::subject::Clock;

/// One condition of a rule.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// `!`: holds where the packet has the thing, and it is another.
    pub negated: bool,
    /// What is asked.
    pub what: Match,
}

impl From<Match> for Matcher {
    fn from(what: Match) -> Self {
        Self {
            negated: false,
            what,
        }
    }
}

impl core::ops::Not for Matcher {
    type Output = Self;

    fn not(self) -> Self {
        Self {
            negated: !self.negated,
            ..self
        }
    }
}

/// What a matcher asks, in the order in which RouterOS asks within a rule: see [`Match::order`].
#[derive(Clone, Debug)]
pub enum Match {
    /// Nothing fits: the rule names what does not exist (`I`), or never matches (`p2p`).
    Never,
    /// `src-mac-address`.
    SourceMac(Mac),
    /// What only rules of bridges ask.
    Link(LinkMatch),
    /// `in-interface`.
    InInterface(Class),
    /// `out-interface`.
    OutInterface(Class),
    /// `in-interface-list`, or a word like `all-ethernet`.
    InInterfaceList(Arc<ClassSet>),
    /// `out-interface-list`, or a word like `all-ethernet`.
    OutInterfaceList(Arc<ClassSet>),
    /// `in-bridge-port`.
    InBridgePort(Class),
    /// `out-bridge-port`.
    OutBridgePort(Class),
    /// `in-bridge-port-list`.
    InBridgePortList(Arc<ClassSet>),
    /// `out-bridge-port-list`.
    OutBridgePortList(Arc<ClassSet>),
    /// `src-address`.
    Source(AddressRange),
    /// `dst-address`.
    Destination(AddressRange),
    /// `src-address-type`.
    SourceType(AddressTypes),
    /// `dst-address-type`.
    DestinationType(AddressTypes),
    /// `src-address-list`.
    SourceList(Arc<List>),
    /// `dst-address-list`.
    DestinationList(Arc<List>),
    /// `ttl`, `hop-limit`.
    Ttl(Compare),
    /// `dscp`, 0 to 63.
    Dscp(u8),
    /// `tos`.
    Tos(Tos),
    /// `packet-size`: bytes from the network header on, both ends included.
    PacketSize(u16, u16),
    /// `tls-host`.
    TlsHost(Glob),
    /// `ipv4-options`.
    Ipv4Options(Ipv4Option),
    /// IPv6 `headers`: the extension headers, a bit each.
    Headers(Headers),
    /// `fragment`: whether the packet is a later part of a datagram.
    Fragment(bool),
    /// `protocol`.
    Protocol(u8),
    /// `dst-port`: ranges, both ends included.
    DestinationPort(Box<[(u16, u16)]>),
    /// `src-port`.
    SourcePort(Box<[(u16, u16)]>),
    /// `port`: either.
    Port(Box<[(u16, u16)]>),
    /// `tcp-flags`: those that are set, and those that are clear, as in the header (FIN is bit 0).
    TcpFlags {
        /// Must be set.
        set: u8,
        /// Must be clear.
        clear: u8,
    },
    /// `tcp-mss`: what a SYN announces, both ends included.
    TcpMss(u16, u16),
    /// `icmp-options`.
    Icmp(Icmp),
    /// `ingress-priority`.
    IngressPriority(u8),
    /// `priority`.
    Priority(u8),
    /// `packet-mark`; 0 is `no-mark`.
    PacketMark(u32),
    /// `routing-mark`.
    RoutingMark(u32),
    /// `realm`.
    Realm(u32),
    /// `hotspot`: those that hold, and those that do not.
    Hotspot {
        /// Must hold.
        set: Hotspot,
        /// Must not hold.
        clear: Hotspot,
    },
    /// `connection-mark`.
    ConnectionMark(u32),
    /// `connection-state`.
    ConnectionState(States),
    /// `connection-nat-state`.
    ConnectionNatState(NatState),
    /// The destination is an endpoint that stands for somebody: what a rule of dstnat with
    /// `endpoint-independent-nat` applies to.
    Mapped,
    /// `connection-bytes`, both ends included; a `last` of 0 is without end.
    ConnectionBytes {
        /// The fewest.
        first: u64,
        /// The most.
        last: u64,
    },
    /// `connection-limit`.
    ConnectionLimit(Arc<ConnectionLimit>),
    /// `connection-rate` in bits a second, both ends included.
    ConnectionRate {
        /// The lowest.
        first: u64,
        /// The highest.
        last: u64,
    },
    /// `ipsec-policy`.
    Ipsec {
        /// Whether it came out of IPsec, else whether it goes in.
        inbound: bool,
        /// `ipsec`, else `none`.
        protected: bool,
    },
    /// `connection-type`.
    ConnectionType(Helper),
    /// `content`: these bytes anywhere in the packet.
    Content(Box<[u8]>),
    /// `time`.
    Time(When),
    /// `psd`.
    Psd(Arc<Psd>),
    /// `layer7-protocol`.
    Layer7(Layer7),
    /// `random`, in percent.
    Random(u8),
    /// `nth`.
    Nth(Arc<Nth>),
    /// `per-connection-classifier`.
    PerConnection {
        /// What is hashed.
        key: FlowKey,
        /// Into how many classes; not 0.
        denominator: u32,
        /// Which class.
        remainder: u32,
    },
    /// `limit`.
    Limit(Arc<Limit>),
    /// `dst-limit`.
    DstLimit(Arc<DstLimit>),
}

impl Match {
    /// Where RouterOS asks it within a rule: lower first. Matchers with a memory come last, so that
    /// they see only packets for which all others hold.
    pub const fn order(&self) -> u8 {
        match self {
            Self::Never => 0,
            Self::SourceMac(_) => 1,
            Self::Link(what) => what.order(),
            Self::InInterface(_) | Self::InBridgePort(_) => 2,
            Self::OutInterface(_) | Self::OutBridgePort(_) => 3,
            Self::InInterfaceList(_) | Self::InBridgePortList(_) => 4,
            Self::OutInterfaceList(_) | Self::OutBridgePortList(_) => 5,
            Self::Source(_) => 6,
            Self::Destination(_) => 7,
            Self::Protocol(_) | Self::Fragment(_) => 8,
            Self::SourceType(_) | Self::DestinationType(_) => 9,
            Self::SourceList(_) | Self::DestinationList(_) => 10,
            Self::Ttl(_) => 11,
            Self::Dscp(_) | Self::Tos(_) => 12,
            Self::PacketSize(..) => 13,
            Self::TlsHost(_) => 14,
            Self::Ipv4Options(_) | Self::Headers(_) => 15,
            Self::DestinationPort(_) => 16,
            Self::SourcePort(_) => 17,
            Self::Port(_) => 18,
            Self::TcpFlags { .. } => 19,
            Self::TcpMss(..) => 20,
            Self::Icmp(_) => 21,
            Self::IngressPriority(_) => 22,
            Self::Priority(_) => 23,
            Self::PacketMark(_) | Self::RoutingMark(_) => 24,
            Self::Realm(_) => 25,
            Self::Hotspot { .. } => 26,
            Self::ConnectionMark(_) => 27,
            Self::ConnectionState(_) => 28,
            Self::ConnectionNatState(_) => 29,
            Self::ConnectionBytes { .. } => 30,
            Self::Mapped => 31,
            Self::ConnectionRate { .. } => 32,
            Self::Ipsec { .. } => 33,
            Self::ConnectionType(_) => 34,
            Self::Content(_) => 35,
            Self::Time(_) => 36,
            // RouterOS names it before `connection-rate`; with a memory, it waits for them.
            Self::ConnectionLimit(_) => 37,
            Self::Psd(_) => 38,
            Self::Layer7(_) => 39,
            Self::Random(_) => 40,
            Self::Nth(_) => 41,
            Self::PerConnection { .. } => 42,
            Self::Limit(_) => 43,
            Self::DstLimit(_) => 44,
        }
    }
}

/// RouterOS: `ttl=less-than:5` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// It is this.
    Equal(u8),
    /// It is another.
    NotEqual(u8),
    /// It is below this.
    Less(u8),
    /// It is above this.
    Greater(u8),
}

/// RouterOS: `tos=value/mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tos {
    /// What the masked field must be.
    pub value: u8,
    /// Which bits count.
    pub mask: u8,
}

/// RouterOS: `icmp-options=type:code-code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// The type.
    pub kind: u8,
    /// The lowest code.
    pub first: u8,
    /// The highest code.
    pub last: u8,
}

/// RouterOS: `ipv4-options`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ipv4Option {
    /// Some option.
    Any,
    /// No option.
    None,
    /// Loose source routing (131).
    LooseSourceRouting,
    /// Strict source routing (137).
    StrictSourceRouting,
    /// Neither of both.
    NoSourceRouting,
    /// Record route (7).
    RecordRoute,
    /// No record route.
    NoRecordRoute,
    /// Timestamp (68).
    Timestamp,
    /// No timestamp.
    NoTimestamp,
    /// Router alert (148).
    RouterAlert,
    /// No router alert.
    NoRouterAlert,
}

/// RouterOS: IPv6 `headers`: extension headers and the end of their chain, as a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Which ones: bit 0 hop-by-hop, 1 destination options, 2 routing, 3 fragment, 4
    /// authentication, 5 encapsulation, 6 none (59), 7 an upper-layer protocol.
    pub bits: u8,
    /// The packet has these and no others (`:exact`), else at least these (`:contains`).
    pub exact: bool,
}

/// RouterOS: `hotspot`, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hotspot(pub u8);

impl Hotspot {
    /// From a client of the hotspot.
    pub const FROM_CLIENT: Self = Self(1);
    /// From a client who is logged in.
    pub const AUTH: Self = Self(2);
    /// To the hotspot itself.
    pub const LOCAL_DST: Self = Self(4);
    /// To a client.
    pub const TO_CLIENT: Self = Self(8);
    /// The hotspot would take it for its web page.
    pub const HTTP: Self = Self(16);
}

/// Which parts of a packet tell flows apart, as a set of bits with RouterOS's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(pub u8);

impl FlowKey {
    /// The source address.
    pub const SOURCE: Self = Self(1);
    /// The destination address.
    pub const DESTINATION: Self = Self(2);
    /// The source port.
    pub const SOURCE_PORT: Self = Self(4);
    /// The destination port.
    pub const DESTINATION_PORT: Self = Self(8);

    /// A number of 32 bits that these parts of a tuple give on every router and after every start.
    /// RouterOS's own function is not known.
    pub(super) fn hash(self, tuple: &Tuple) -> u32 {
        let (high, low, more) = self.pick(tuple);
        (fold(
            fold(low, more ^ 0x9e37_79b9_7f4a_7c15),
            high ^ 0xd6e8_feb8_6659_fd93,
        ) >> 32) as u32
    }

    /// These parts of a tuple as numbers; the same parts give the same, others hardly ever: two
    /// addresses of IPv6 do not fit, and are folded.
    pub(super) fn pick(self, tuple: &Tuple) -> (u64, u64, u64) {
        let if_has = |bit: Self| (self.0 & bit.0 != 0) as u128;
        let (from, to) = (
            tuple.source * if_has(Self::SOURCE),
            tuple.destination * if_has(Self::DESTINATION),
        );
        let ports = (tuple.source_port as u64 * if_has(Self::SOURCE_PORT) as u64)
            | ((tuple.destination_port as u64 * if_has(Self::DESTINATION_PORT) as u64) << 16)
            | (tuple.ipv6 as u64) << 32;
        let high = fold((from >> 64) as u64, 1) ^ fold((to >> 64) as u64, 3);
        let high = if tuple.ipv6 { high } else { 0 };
        let low = if tuple.ipv6 {
            fold(from as u64, 5) ^ fold(to as u64, 7)
        } else {
            (from << 32 | to) as u64
        };
        (high, low, ports)
    }
}

/// RouterOS: `time=from-to,days`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The first second of the day.
    pub first: u32,
    /// The last second of the day; before `first` where the span passes midnight.
    pub last: u32,
    /// Days of the week, bit 0 is Sunday. The day on which the packet comes counts, also behind
    /// midnight.
    pub days: u8,
}

impl When {
    /// Whether it is now.
    pub const fn holds(&self, clock: &Clock) -> bool {
        let second = clock.second_of_day;
        let within = match self.first <= self.last {
            true => self.first <= second && second <= self.last,
            false => second >= self.first || second <= self.last,
        };
        within && self.days >> (clock.weekday & 7) & 1 != 0
    }
}
