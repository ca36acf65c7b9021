//! A packet during rule evaluation: its fields, the changes that rules request, and queries about its
//! connection and route.

use conntrack::connection::{Helper, NatState, State};
use frame::InterfaceId;
use machine::Instant;
use packet::{Fields, Tuple};
use wire::Mac;

use super::action::{Mss, Npt};
use super::address::{AddressTypes, Class};
use super::link::Bridged;
use super::matcher::Hotspot;
use super::stream::{StreamPatterns, StreamResult, StreamState};

/// Marks and priority of a packet, kept through all tables. Mark 0 is `no-mark`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// RouterOS: `packet-mark`; bridges and queues use the same marks.
    pub packet: u32,
    /// RouterOS: `routing-mark`.
    pub routing: u32,
    /// RouterOS: `connection-mark`; the caller stores a changed mark in the connection.
    pub connection: u32,
    /// RouterOS: `priority`, 0 to 63, for the egress link.
    pub priority: u8,
}

/// Sender of a packet, from the link header of its ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Source MAC address.
    pub mac: Mac,
    /// Priority of the VLAN tag (IEEE 802.1Q, 9.6), 0 to 7; 0 without a tag. RouterOS: `ingress-priority`.
    pub priority: u8,
}

/// Changes that rules request for a packet, besides verdict and marks. Later matchers see the changed values;
/// the data plane changes the bytes when it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New TTL or hop limit.
    pub ttl: Option<u8>,
    /// New TOS or traffic class; the ECN bits (RFC 3168) are unchanged.
    pub tos: Option<u8>,
    /// Maximum segment size for a SYN.
    pub mss: Option<Mss>,
    /// True to clear the don't-fragment flag.
    pub clear_df: bool,
    /// Priority for VLAN tags on egress, which use the low three bits.
    pub priority: Option<u8>,
    /// True to replace IPv4 options by no-operations.
    pub strip_options: bool,
    /// IPv6: new prefix of the source (RFC 6296).
    pub source_prefix: Option<Npt>,
    /// IPv6: new prefix of the destination (RFC 6296).
    pub destination_prefix: Option<Npt>,
    /// Gateway that overrides the routing table.
    pub gateway: Option<u128>,
    /// True to FastTrack the connection.
    pub fasttrack: bool,
    /// True to exclude the packet from connection tracking.
    pub untracked: bool,
    /// True if a `connection-limit` counts the connection: the caller must call `Table::leave` when the
    /// connection ends, or when its first packet is dropped.
    pub counted: bool,
    /// Result of reading the packet's stream.
    pub looked: StreamResult,
}

/// IPsec policy state of a packet, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipsec(pub u8);

impl Ipsec {
    /// The packet was decapsulated by IPsec.
    pub const CAME_OUT: Self = Self(1);
    /// The packet will be encapsulated by IPsec.
    pub const GOES_IN: Self = Self(2);

    /// Returns whether the packet was decapsulated (`inbound`) or will be encapsulated.
    #[inline]
    pub const fn is_protected(self, inbound: bool) -> bool {
        let bit = if inbound {
            Self::CAME_OUT
        } else {
            Self::GOES_IN
        };
        self.0 & bit.0 != 0
    }
}

/// A packet that passes rules.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Parsed header fields.
    pub fields: &'a Fields,
    /// Bytes of the packet, from the network header on.
    pub packet: &'a [u8],
    /// Sender on the link, if there is one.
    pub sender: Option<Sender>,
    /// Class of the ingress interface; none for packets that the router sends.
    pub ingress: Class,
    /// Class of the egress interface; unset before routing and for packets to the router.
    pub egress: Class,
    /// The egress interface, for events.
    pub leaves_by: InterfaceId,
    /// Class of the ingress bridge port, with `use-ip-firewall` only.
    pub bridge_ingress: Class,
    /// Class of the egress bridge port, with `use-ip-firewall` only.
    pub bridge_egress: Class,
    /// The frame, in bridge tables.
    pub bridged: Option<Bridged<'a>>,
    /// Connection state.
    pub state: State,
    /// Kinds of translation of the connection.
    pub nat: NatState,
    /// IPsec policy state.
    pub ipsec: Ipsec,
    /// Current marks.
    pub marks: Marks,
    /// Changes requested so far.
    pub changes: Changes,
}

impl<'a> Subject<'a> {
    /// Creates a packet that arrived on an interface of this class; all other data is absent.
    pub fn new(fields: &'a Fields, packet: &'a [u8], ingress: Class) -> Self {
        Self {
            fields,
            packet,
            sender: None,
            ingress,
            egress: Class::NONE,
            leaves_by: InterfaceId::NONE,
            bridge_ingress: Class::NONE,
            bridge_egress: Class::NONE,
            bridged: None,
            state: State::New,
            nat: NatState::default(),
            ipsec: Ipsec::default(),
            marks: Marks::default(),
            changes: Changes::default(),
        }
    }

    /// Returns the TTL or hop limit, as changed by rules.
    #[inline(always)]
    pub fn ttl(&self) -> u8 {
        self.changes.ttl.unwrap_or(self.fields.ttl)
    }

    /// Returns the TOS or traffic class, as changed by rules.
    #[inline(always)]
    pub fn tos(&self) -> u8 {
        self.changes.tos.unwrap_or(self.fields.tos)
    }
}

/// The time of a packet vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Monotonic.
    pub now: Instant,
    /// Seconds since local midnight.
    pub second_of_day: u32,
    /// Local day of the week: 0 is Sunday.
    pub weekday: u8,
}

impl Clock {
    /// Creates the clock for a local time in seconds since 1970, as if the zone were UTC.
    pub const fn at(now: Instant, local_seconds: i64) -> Self {
        const DAY: i64 = 86_400;
        Self {
            now,
            second_of_day: local_seconds.rem_euclid(DAY) as u32,
            // 1970-01-01 was a Thursday.
            weekday: (local_seconds.div_euclid(DAY) + 4).rem_euclid(7) as u8,
        }
    }
}

/// Connection of a packet's stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// Not tracked.
    #[default]
    None,
    /// A connection that this packet begins.
    Begins,
    /// A connection in the table.
    Known {
        /// The stream state stored with the connection.
        kept: StreamState,
        /// True if the packet travels in the reply direction.
        reply: bool,
    },
}

/// Queries beyond the packet, which are used only after all cheaper matchers match.
pub trait Facts {
    /// Returns the connection's bytes in both directions, from the IP header on, including this packet;
    /// `None` without a connection.
    fn bytes(&self) -> Option<u64>;
    /// Returns the connection's rate in bit/s, both directions, over the last full second.
    fn rate_bps(&self) -> Option<u64>;
    /// Returns the helper of the connection.
    fn helper(&self) -> Option<Helper>;
    /// Returns true if the tuple's destination is the outside endpoint of a mapping.
    fn is_mapped(&self, tuple: &Tuple) -> bool;
    /// Returns the connection's original tuple; `None` without a connection.
    fn original(&self) -> Option<Tuple>;
    /// Returns the connection of the packet's stream.
    fn carrier(&self) -> Carrier {
        Carrier::None
    }
    /// Stores stream state with a connection in the table.
    fn keep(&self, _kept: StreamState) {}
    /// Returns the compiled stream patterns.
    fn sought(&self) -> Option<&StreamPatterns> {
        None
    }
    /// Returns the routing table's classification of an address.
    fn address_types(&self, address: u128, ipv6: bool) -> AddressTypes;
    /// Returns the realm of the packet's route.
    fn realm(&self) -> Option<u32>;
    /// Returns the hotspot state of the packet.
    fn hotspot(&self) -> Hotspot;
}

/// Queries without answers, for chains that cannot use any, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Facts for Nothing {
    fn bytes(&self) -> Option<u64> {
        None
    }

    fn rate_bps(&self) -> Option<u64> {
        None
    }

    fn helper(&self) -> Option<Helper> {
        None
    }

    fn is_mapped(&self, _tuple: &Tuple) -> bool {
        false
    }

    fn original(&self) -> Option<Tuple> {
        None
    }

    fn address_types(&self, _address: u128, _ipv6: bool) -> AddressTypes {
        AddressTypes::UNICAST
    }

    fn realm(&self) -> Option<u32> {
        None
    }

    fn hotspot(&self) -> Hotspot {
        Hotspot::default()
    }
}
