//! A packet as rules see it, what they change about it, and what they may ask beyond it.

use conntrack::connection::{Helper, NatState, State};
use frame::InterfaceId;
use machine::Instant;
use packet::{Fields, Tuple};
use wire::Mac;

use super::action::{Mss, Npt};
use super::address::{AddressTypes, Class};
use super::link::Bridged;
use super::matcher::Hotspot;
use super::stream::{Kept, Looked, Sought};

/// Marks and priorities that travel with a packet through all tables. Mark 0 is `no-mark`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// RouterOS: `packet-mark`; one namespace with bridges and queues.
    pub packet: u32,
    /// RouterOS: `routing-mark`.
    pub routing: u32,
    /// RouterOS: `connection-mark`; whoever has the connection stores it when it changed.
    pub connection: u32,
    /// RouterOS: `priority`, 0 to 63, for the link that it leaves by.
    pub priority: u8,
}

/// What the link header that a packet came with says of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Its address.
    pub mac: Mac,
    /// The priority of the VLAN tag (IEEE 802.1Q, 9.6), 0 to 7; 0 without one. RouterOS:
    /// `ingress-priority`.
    pub priority: u8,
}

/// What rules decided about a packet besides the verdict and marks. Later matchers of the same walk
/// see the changed values; the bytes are changed by the walk when it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The new lifetime or hop limit.
    pub ttl: Option<u8>,
    /// The new type of service or traffic class, with the ECN bits as they were (RFC 3168).
    pub tos: Option<u8>,
    /// The largest segment that a SYN may announce.
    pub mss: Option<Mss>,
    /// May be fragmented.
    pub clear_df: bool,
    /// The priority for VLAN tags that it leaves with, of which these have the low three bits.
    pub priority: Option<u8>,
    /// IPv4 options become no-operations.
    pub strip_options: bool,
    /// IPv6: the source's prefix is another (RFC 6296).
    pub source_prefix: Option<Npt>,
    /// IPv6: the destination's prefix is another.
    pub destination_prefix: Option<Npt>,
    /// This gateway whatever the table says.
    pub gateway: Option<u128>,
    /// The connection may take the fast path from now on.
    pub fasttrack: bool,
    /// Not to be tracked.
    pub untracked: bool,
    /// The connection was entered into a `connection-limit`'s census: if the packet begins it and is
    /// then discarded, or when it ends, it must leave that (`Table::leave`).
    pub counted: bool,
    /// What was seen of the stream that it is a part of.
    pub looked: Looked,
}

/// What IPsec has to do with a packet, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipsec(pub u8);

impl Ipsec {
    /// It came out of IPsec.
    pub const CAME_OUT: Self = Self(1);
    /// It will go into IPsec.
    pub const GOES_IN: Self = Self(2);

    /// Whether it came out (`inbound`), or else goes in.
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

/// A packet on its way through rules.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// As it was parsed.
    pub fields: &'a Fields,
    /// Its bytes from the network header on.
    pub packet: &'a [u8],
    /// Its link-layer source, where it has one.
    pub sender: Option<Sender>,
    /// The class of the interface that it came by; none for the router's own.
    pub ingress: Class,
    /// That of the interface that it leaves by; none before routing, and for the router.
    pub egress: Class,
    /// The interface that it leaves by, for who is told of the packet.
    pub leaves_by: InterfaceId,
    /// The class of the bridge port that it came by, only with `use-ip-firewall`.
    pub bridge_ingress: Class,
    /// That of the bridge port that it leaves by, only with `use-ip-firewall`.
    pub bridge_egress: Class,
    /// The frame that it is in, where rules of bridges look at that.
    pub bridged: Option<Bridged<'a>>,
    /// The state of its connection.
    pub state: State,
    /// How its connection is translated.
    pub nat: NatState,
    /// What IPsec has to do with it.
    pub ipsec: Ipsec,
    /// Marks, as they are now.
    pub marks: Marks,
    /// What rules decided so far.
    pub changes: Changes,
}

impl<'a> Subject<'a> {
    /// A packet that came by an interface of this class, with all else unknown or none.
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

    /// Its lifetime, as rules left it.
    #[inline(always)]
    pub fn ttl(&self) -> u8 {
        self.changes.ttl.unwrap_or(self.fields.ttl)
    }

    /// Its type of service, as rules left it.
    #[inline(always)]
    pub fn tos(&self) -> u8 {
        self.changes.tos.unwrap_or(self.fields.tos)
    }
}

/// The time, as a worker was told it for a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Monotonic.
    pub now: Instant,
    /// Seconds since local midnight.
    pub second_of_day: u32,
    /// The local day of the week: 0 is Sunday.
    pub weekday: u8,
}

impl Clock {
    /// At this local time, in seconds since 1970 as if the zone were UTC.
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

/// Which connection a packet's stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// None that is tracked.
    #[default]
    None,
    /// One that this packet begins.
    Begins,
    /// One that is known.
    Known {
        /// What it keeps of its stream.
        kept: Kept,
        /// The packet goes the way of answers.
        reply: bool,
    },
}

/// What a rule may ask beyond the packet: asked only when everything cheaper holds.
pub trait Facts {
    /// Bytes of the connection in both directions, from the IP header on, this packet included; none
    /// without a connection.
    fn bytes(&self) -> Option<u64>;
    /// The connection's rate in bits a second, both directions, over the last full second.
    fn rate_bps(&self) -> Option<u64>;
    /// The helper that looks after the connection.
    fn helper(&self) -> Option<Helper>;
    /// Whether the destination of a tuple is an endpoint that stands for somebody behind the router.
    fn is_mapped(&self, tuple: &Tuple) -> bool;
    /// The connection's tuple as its first packet had it; none without a connection.
    fn original(&self) -> Option<Tuple>;
    /// The connection whose stream the packet is a part of.
    fn carrier(&self) -> Carrier {
        Carrier::None
    }
    /// Has a known connection keep something of its stream.
    fn keep(&self, _kept: Kept) {}
    /// What rules look for in streams.
    fn sought(&self) -> Option<&Sought> {
        None
    }
    /// What the routing table says of an address.
    fn address_types(&self, address: u128, ipv6: bool) -> AddressTypes;
    /// The realm of the packet's route.
    fn realm(&self) -> Option<u32>;
    /// What the hotspot knows of the packet.
    fn hotspot(&self) -> Hotspot;
}

/// Facts of which nothing is known: where a chain cannot ask for any, and in tests.
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
