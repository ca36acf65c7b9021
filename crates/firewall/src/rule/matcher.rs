//! All matchers of RouterOS's rules in compiled form: names are numbers, lists are shared.
//!
//! A matcher tests one field of a packet. If the packet lacks the field (ports of a later fragment, TCP flags
//! of another protocol, bytes of a packet without connection), the matcher fails, negated or not. RouterOS
//! does so for ports; for other fields its behaviour is unknown.

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
    /// `!`: matches if the packet has the field with another value.
    pub negated: bool,
    /// The condition.
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

/// A condition, in the order in which RouterOS evaluates conditions within a rule ([`Match::order`]).
#[derive(Clone, Debug)]
pub enum Match {
    /// Never matches: the rule refers to an object that does not exist (flag `I`), or uses `p2p`.
    Never,
    /// `src-mac-address`.
    SourceMac(Mac),
    /// A link-layer condition of bridge rules.
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
    /// `packet-size`: bytes from the network header on, an inclusive range.
    PacketSize(u16, u16),
    /// `tls-host`.
    TlsHost(Glob),
    /// `ipv4-options`.
    Ipv4Options(Ipv4Option),
    /// IPv6 `headers`: extension headers as a bit set.
    Headers(Headers),
    /// `fragment`: true for fragments other than the first.
    Fragment(bool),
    /// `protocol`.
    Protocol(u8),
    /// `dst-port`: inclusive ranges.
    DestinationPort(Box<[(u16, u16)]>),
    /// `src-port`.
    SourcePort(Box<[(u16, u16)]>),
    /// `port`: source or destination port.
    Port(Box<[(u16, u16)]>),
    /// `tcp-flags`: flags that must be set or clear, as in the header (FIN is bit 0).
    TcpFlags {
        /// Must be set.
        set: u8,
        /// Must be clear.
        clear: u8,
    },
    /// `tcp-mss`: the MSS option of a SYN, an inclusive range.
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
    /// `hotspot`: states that must hold or not hold.
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
    /// True if the destination is the outside endpoint of a mapping: implied by dstnat rules with
    /// `endpoint-independent-nat`.
    Mapped,
    /// `connection-bytes`, an inclusive range; a `last` of 0 means no upper limit.
    ConnectionBytes {
        /// Lower bound.
        first: u64,
        /// Upper bound.
        last: u64,
    },
    /// `connection-limit`.
    ConnectionLimit(Arc<ConnectionLimit>),
    /// `connection-rate` in bit/s, an inclusive range.
    ConnectionRate {
        /// Lower bound.
        first: u64,
        /// Upper bound.
        last: u64,
    },
    /// `ipsec-policy`.
    Ipsec {
        /// True for decapsulated packets (`in`), false for packets to encapsulate (`out`).
        inbound: bool,
        /// True for `ipsec`, false for `none`.
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
        /// The fields that are hashed.
        key: FlowKey,
        /// Number of classes; not 0.
        denominator: u32,
        /// The class that matches.
        remainder: u32,
    },
    /// `limit`.
    Limit(Arc<Limit>),
    /// `dst-limit`.
    DstLimit(Arc<DstLimit>),
}

impl Match {
    /// Returns the position of the condition within a rule: lower values are evaluated first. Matchers with
    /// state come last, so that they see only packets for which all others match.
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
            // RouterOS lists it before `connection-rate`; as a matcher with state it comes after all
            // stateless ones.
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

/// RouterOS: `ttl=less-than:5` and similar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Equal to this value.
    Equal(u8),
    /// Different from this value.
    NotEqual(u8),
    /// Less than this value.
    Less(u8),
    /// Greater than this value.
    Greater(u8),
}

/// RouterOS: `tos=value/mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tos {
    /// Required value of the masked field.
    pub value: u8,
    /// The bits that are compared.
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
    /// Any option.
    Any,
    /// No option.
    None,
    /// Loose source routing (131).
    LooseSourceRouting,
    /// Strict source routing (137).
    StrictSourceRouting,
    /// Neither loose nor strict source routing.
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

/// RouterOS: IPv6 `headers`: extension headers and end of the header chain, as a bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Bit 0 hop-by-hop, 1 destination options, 2 routing, 3 fragment, 4 authentication, 5 ESP, 6 no next
    /// header (59), 7 an upper-layer protocol.
    pub bits: u8,
    /// True if the packet has exactly these headers (`:exact`), false if at least these (`:contains`).
    pub exact: bool,
}

/// RouterOS: `hotspot`, as a bit set.
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
    /// To the hotspot's web page.
    pub const HTTP: Self = Self(16);
}

/// The fields that distinguish flows, as a bit set with RouterOS's values.
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

    /// Returns a 32-bit hash of the selected fields, equal on every router and after every restart.
    /// RouterOS's own function is unknown.
    pub(super) fn hash(self, tuple: &Tuple) -> u32 {
        let (high, low, more) = self.pick(tuple);
        (fold(
            fold(low, more ^ 0x9e37_79b9_7f4a_7c15),
            high ^ 0xd6e8_feb8_6659_fd93,
        ) >> 32) as u32
    }

    /// Returns the selected fields as numbers. Equal fields give equal numbers; two IPv6 addresses do not fit
    /// and are hashed, so that a collision is improbable.
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
    /// The last second of the day; less than `first` if the period spans midnight.
    pub last: u32,
    /// Days of the week, bit 0 is Sunday. The day of the packet counts, also after midnight.
    pub days: u8,
}

impl When {
    /// Returns true if the period includes the current time.
    pub const fn matches(&self, clock: &Clock) -> bool {
        let second = clock.second_of_day;
        let within = match self.first <= self.last {
            true => self.first <= second && second <= self.last,
            false => second >= self.first || second <= self.last,
        };
        within && self.days >> (clock.weekday & 7) & 1 != 0
    }
}
