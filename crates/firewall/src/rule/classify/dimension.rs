//! Classification keys: the fields of a packet by which rules are distinguished, each encoded as a number;
//! and the ranges of that number that a matcher accepts.

/// Maximum number of packets that are classified together, as in a batch lookup of connections.
pub use conntrack::connection::TOGETHER;
use conntrack::connection::{NatState, State};
use packet::link::Link;
use packet::{Fields, Tuple, protocol};

use crate::rule::address::{AddressRange, Class, ClassSet};
use crate::rule::evaluate;
use crate::rule::link::{self, LinkMatch};
use crate::rule::matcher::{Icmp, Match, Matcher};
use crate::rule::subject::{Ipsec, Marks, Subject};

/// Packets as the classifier reads them: one packet or a vector. `at` is the packet's index.
pub trait Packets {
    /// Returns the number of packets.
    fn len(&self) -> usize;
    /// Returns the parsed fields of a packet.
    fn fields(&self, at: usize) -> &Fields;
    /// Returns the classes of the ingress and egress interface.
    fn classes(&self, at: usize) -> (Class, Class);
    /// Returns the connection state and the kinds of translation.
    fn state(&self, at: usize) -> (State, NatState);
    /// Returns the IPsec policy state of a packet.
    fn ipsec(&self, at: usize) -> Ipsec;
    /// Returns the current marks of a packet.
    fn marks(&self, at: usize) -> Marks;

    /// Returns the link header if bridge rules read it.
    #[inline(always)]
    fn link(&self, _at: usize) -> Option<&Link> {
        None
    }

    /// Returns the classes of the ingress and egress bridge.
    #[inline(always)]
    fn bridges(&self, _at: usize) -> (Class, Class) {
        (Class::NONE, Class::NONE)
    }

    /// Returns the keys of all packets for a field, at most [`TOGETHER`], if they are precomputed. Entries
    /// after the last packet are undefined.
    #[inline(always)]
    fn column(&self, _of: Of) -> Option<&[u32; TOGETHER]> {
        None
    }

    /// Returns precomputed 128-bit keys: IPv6 addresses, or MAC addresses in the upper 64 bits.
    #[inline(always)]
    fn addresses(&self, _of: Of) -> Option<&[u128; TOGETHER]> {
        None
    }

    /// Returns true if there are no packets.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Packets for Subject<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        1
    }

    #[inline(always)]
    fn fields(&self, _at: usize) -> &Fields {
        self.fields
    }

    #[inline(always)]
    fn classes(&self, _at: usize) -> (Class, Class) {
        (self.ingress, self.egress)
    }

    #[inline(always)]
    fn state(&self, _at: usize) -> (State, NatState) {
        (self.state, self.nat)
    }

    #[inline(always)]
    fn ipsec(&self, _at: usize) -> Ipsec {
        self.ipsec
    }

    #[inline(always)]
    fn marks(&self, _at: usize) -> Marks {
        self.marks
    }

    #[inline(always)]
    fn link(&self, _at: usize) -> Option<&Link> {
        Some(self.bridged?.link)
    }

    #[inline(always)]
    fn bridges(&self, _at: usize) -> (Class, Class) {
        self.bridged
            .map_or((Class::NONE, Class::NONE), |of| (of.ingress, of.egress))
    }
}

/// A field of a packet that is encoded as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Of {
    /// The source address; for IPv6 the key exceeds 32 bits.
    Source,
    /// The destination address.
    Destination,
    /// Protocol, a bit that the ports (or ICMP type) are readable, and the destination port (or ICMP type and
    /// code).
    Service,
    /// A bit that the ports are readable, and the source port.
    SourcePort,
    /// The class of the ingress interface.
    Ingress,
    /// The class of the egress interface.
    Egress,
    /// Kinds of translation and state of the connection.
    State,
    /// A bit that the TCP flags are readable, and the flags.
    TcpFlags,
    /// The IPsec policy state.
    Ipsec,
    /// The packet mark.
    PacketMark,
    /// The routing mark.
    RoutingMark,
    /// The connection mark.
    ConnectionMark,
    /// The source MAC address of a frame, a long key.
    SourceMac,
    /// The destination MAC address of a frame.
    DestinationMac,
    /// The EtherType of a frame, and a bit that it has an IP header.
    Kind,
    /// The VLAN tag of a frame.
    Tag,
    /// The class of the ingress bridge.
    InBridge,
    /// The class of the egress bridge.
    OutBridge,
}

impl Of {
    /// Returns the key of [`Self::Service`] for a whole TCP segment or UDP datagram.
    #[inline(always)]
    pub fn service(tuple: &Tuple) -> u32 {
        Self::service_of(tuple.protocol.into(), tuple.destination_port.into())
    }

    /// Returns the key of [`Self::Service`] for a protocol and for ports with the destination port in the
    /// lower half.
    #[inline(always)]
    pub fn service_of(protocol: u32, ports: u32) -> u32 {
        protocol << PROTOCOL | SHOWN | ports & 0xffff
    }

    /// Returns the key of [`Self::Service`] for any packet, including fragments and truncated packets.
    #[inline(always)]
    pub fn service_shown(fields: &Fields) -> u32 {
        let number = u32::from(fields.tuple.protocol) << PROTOCOL;
        let shown = evaluate::ports(fields).is_some() | evaluate::icmp(fields).is_some();
        let what = SHOWN | u32::from(fields.tuple.destination_port);
        number | what & u32::from(shown).wrapping_neg()
    }

    /// Returns the key of [`Self::SourcePort`].
    #[inline(always)]
    pub fn source_port(fields: &Fields) -> u32 {
        let shown = evaluate::ports(fields);
        shown.map_or(0, |(port, _)| SHOWN | u32::from(port))
    }

    /// Returns the key of [`Self::TcpFlags`].
    #[inline(always)]
    pub fn tcp_flags(fields: &Fields) -> u32 {
        evaluate::tcp(fields).map_or(0, |flags| 0x100 | u32::from(flags))
    }

    /// Returns the key of [`Self::State`].
    #[inline(always)]
    pub fn state(state: State, nat: NatState) -> u32 {
        u32::from(nat.0) << 3 | state as u32
    }

    /// Returns the key of [`Self::Kind`] for an EtherType; `has_ip` is true if the frame has an IP header.
    #[inline(always)]
    pub fn kind(kind: u16, has_ip: bool) -> u32 {
        u32::from(kind) | u32::from(has_ip) << 16
    }

    /// Returns the key of a MAC address.
    #[inline(always)]
    pub fn mac(mac: wire::Mac) -> u128 {
        link::mac_number(mac)
    }

    /// Returns the key of [`Self::Tag`].
    #[inline(always)]
    pub fn tag(link: &Link) -> u32 {
        link::tag_number(link)
    }

    /// Returns true if the key may exceed 32 bits.
    pub(super) const fn is_long(self) -> bool {
        matches!(
            self,
            Self::Source | Self::Destination | Self::SourceMac | Self::DestinationMac
        )
    }

    /// Returns true if rules can change the field.
    pub(super) const fn is_mark(self) -> bool {
        matches!(
            self,
            Self::PacketMark | Self::RoutingMark | Self::ConnectionMark
        )
    }
}

/// A set of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u32);

impl Parts {
    /// Returns true if the set contains one of these fields.
    #[inline(always)]
    pub fn has(self, any: &[Of]) -> bool {
        any.iter().any(|of| self.0 >> *of as u8 & 1 != 0)
    }
}

impl FromIterator<Of> for Parts {
    fn from_iter<I: IntoIterator<Item = Of>>(parts: I) -> Self {
        let bits = parts.into_iter().map(|of| 1 << of as u8);
        Self(bits.fold(0, |all, bit: u32| all | bit))
    }
}

/// Number of fields.
pub(super) const PARTS: usize = 18;

/// Inclusive ranges, sorted and disjoint.
pub(in crate::rule) type Spans = Vec<(u128, u128)>;

const SHOWN: u32 = 1 << 16;
const PROTOCOL: u32 = 17;

/// Returns an address as a 32-bit key, saturated.
#[inline(always)]
pub(super) fn narrow(address: u128) -> u32 {
    u32::try_from(address).unwrap_or(u32::MAX)
}

/// Returns the key of a packet for a field.
#[inline(always)]
pub(super) fn key<P: Packets>(of: Of, packets: &P, at: usize) -> u32 {
    // If a column is precomputed, the fields may not have been parsed.
    if let Some(column) = packets.column(of) {
        return column[at % TOGETHER];
    }
    if let Some(addresses) = packets.addresses(of) {
        return narrow(addresses[at % TOGETHER]);
    }
    let tuple = &packets.fields(at).tuple;
    match of {
        Of::Source => narrow(tuple.source),
        Of::Destination => narrow(tuple.destination),
        Of::Service => Of::service_shown(packets.fields(at)),
        Of::SourcePort => Of::source_port(packets.fields(at)),
        Of::Ingress => packets.classes(at).0.0.into(),
        Of::Egress => packets.classes(at).1.0.into(),
        Of::State => {
            let (state, nat) = packets.state(at);
            Of::state(state, nat)
        }
        Of::TcpFlags => Of::tcp_flags(packets.fields(at)),
        Of::Ipsec => packets.ipsec(at).0.into(),
        Of::PacketMark => packets.marks(at).packet,
        Of::RoutingMark => packets.marks(at).routing,
        Of::ConnectionMark => packets.marks(at).connection,
        Of::SourceMac | Of::DestinationMac => narrow(address(of, packets, at)),
        Of::Kind => {
            let link = packets.link(at);
            link.map_or(link::NONE, |link| Of::kind(link.kind, link.has_ip))
        }
        Of::Tag => packets.link(at).map_or(0, link::tag_number),
        Of::InBridge => bridge(packets, at, packets.bridges(at).0),
        Of::OutBridge => bridge(packets, at, packets.bridges(at).1),
    }
}

/// Returns the key of a frame's bridge class.
#[inline(always)]
fn bridge<P: Packets>(packets: &P, at: usize, class: Class) -> u32 {
    packets.link(at).map_or(link::NONE, |_| class.0.into())
}

/// Returns the 128-bit key of a packet for an address field.
#[inline(always)]
pub(super) fn address<P: Packets>(of: Of, packets: &P, at: usize) -> u128 {
    if let Some(addresses) = packets.addresses(of) {
        return addresses[at % TOGETHER];
    }
    if let Some(column) = packets.column(of) {
        return column[at % TOGETHER].into();
    }
    let mac = |mac: fn(&Link) -> wire::Mac| {
        let link = packets.link(at);
        link.map_or(link::NO_MAC, |link| link::mac_number(mac(link)))
    };
    match of {
        Of::Source => packets.fields(at).tuple.source,
        Of::SourceMac => mac(|link| link.source),
        Of::DestinationMac => mac(|link| link.destination),
        _ => packets.fields(at).tuple.destination,
    }
}

/// Returns the field of a matcher and the exact key ranges that it accepts; `None` if no field represents the
/// matcher.
pub(super) fn spans(matcher: &Matcher) -> Option<(Of, Spans)> {
    let one = |value: u32| vec![(value.into(), value.into())];
    let (of, domain, spans) = match &matcher.what {
        Match::Source(range) => (Of::Source, all(), addresses(range)),
        Match::Destination(range) => (Of::Destination, all(), addresses(range)),
        Match::Protocol(number) => (Of::Service, all(), vec![services(*number)]),
        Match::DestinationPort(ranges) => {
            (Of::Service, with_ports(&[(0, 0xffff)]), with_ports(ranges))
        }
        Match::Icmp(icmp) => (Of::Service, with_icmp(None), with_icmp(Some(icmp))),
        Match::SourcePort(ranges) => {
            let domain = vec![(SHOWN.into(), (SHOWN | 0xffff).into())];
            (Of::SourcePort, domain, shifted(ranges, SHOWN.into()))
        }
        Match::InInterface(class) => (Of::Ingress, all(), one(class.0.into())),
        Match::OutInterface(class) => (Of::Egress, all(), one(class.0.into())),
        Match::InInterfaceList(set) => (Of::Ingress, all(), members(set)),
        Match::OutInterfaceList(set) => (Of::Egress, all(), members(set)),
        Match::ConnectionState(states) => {
            let has = |value: u32| states.0 >> (value & 7) & 1 != 0;
            (Of::State, all(), runs(0..1 << 11, has))
        }
        Match::ConnectionNatState(nat) => {
            let has = |value: u32| NatState((value >> 3) as u8).intersects(*nat);
            (Of::State, all(), runs(0..1 << 11, has))
        }
        Match::TcpFlags { set, clear } => {
            let has = |value: u32| value as u8 & (set | clear) == *set;
            (Of::TcpFlags, vec![(0x100, 0x1ff)], runs(0x100..0x200, has))
        }
        Match::Ipsec { inbound, protected } => {
            let has = |value: u32| Ipsec(value as u8).is_protected(*inbound) == *protected;
            (Of::Ipsec, all(), runs(0..4, has))
        }
        Match::PacketMark(mark) => (Of::PacketMark, all(), one(*mark)),
        Match::RoutingMark(mark) => (Of::RoutingMark, all(), one(*mark)),
        Match::ConnectionMark(mark) => (Of::ConnectionMark, all(), one(*mark)),
        Match::Link(what) => of_link(what)?,
        _ => return None,
    };
    let spans = match matcher.negated {
        true => common(&domain, &others(&spans)),
        false => spans,
    };
    Some((of, spans))
}

/// Returns the field of a link-layer matcher, the keys of all frames that have the field, and the accepted
/// ranges.
fn of_link(what: &LinkMatch) -> Option<(Of, Spans, Spans)> {
    let one = |class: Class| vec![(class.0.into(), class.0.into())];
    Some(match what {
        LinkMatch::InBridge(class) => (Of::InBridge, link::all(), one(*class)),
        LinkMatch::OutBridge(class) => (Of::OutBridge, link::all(), one(*class)),
        LinkMatch::InBridgeList(set) => (Of::InBridge, link::all(), members(set)),
        LinkMatch::OutBridgeList(set) => (Of::OutBridge, link::all(), members(set)),
        LinkMatch::Source(set) => (Of::SourceMac, link::all_macs(), link::macs(set)?),
        LinkMatch::Destination(set) => (Of::DestinationMac, link::all_macs(), link::macs(set)?),
        LinkMatch::Kind(first, last) => (Of::Kind, link::all(), link::kinds(*first, *last)),
        LinkMatch::Carries(what) => (Of::Kind, link::all(), link::carrying(*what)),
        LinkMatch::VlanId(first, last) => {
            (Of::Tag, link::all_tags(), link::tags(*first, *last, 0..8))
        }
        LinkMatch::VlanPriority(priority) => {
            let spans = match *priority {
                priority @ 0..8 => link::tags(0, 0xfff, priority..priority + 1),
                _ => Spans::new(),
            };
            (Of::Tag, link::all_tags(), spans)
        }
        _ => return None,
    })
}

fn all() -> Spans {
    vec![(0, u128::MAX)]
}

fn addresses(range: &AddressRange) -> Spans {
    let some = range.first <= range.last;
    some.then_some((range.first, range.last))
        .into_iter()
        .collect()
}

/// Returns the keys of all packets of a protocol.
fn services(number: u8) -> (u128, u128) {
    let first = u128::from(number) << PROTOCOL;
    (first, first | ((1 << PROTOCOL) - 1))
}

fn with_ports(ranges: &[(u16, u16)]) -> Spans {
    let numbers = [
        protocol::TCP,
        protocol::UDP,
        protocol::DCCP,
        protocol::SCTP,
        protocol::UDP_LITE,
    ];
    let bases = numbers.map(|number| u128::from(number) << PROTOCOL | u128::from(SHOWN));
    let spans = bases.map(|base| shifted(ranges, base));
    spans.into_iter().flatten().collect()
}

fn with_icmp(wanted: Option<&Icmp>) -> Spans {
    let (first, last) = wanted.map_or((0, 0xffff), |icmp| {
        let kind = u16::from(icmp.kind) << 8;
        (kind | u16::from(icmp.first), kind | u16::from(icmp.last))
    });
    let bases = [protocol::ICMP, protocol::ICMPV6];
    let bases = bases.map(|number| u128::from(number) << PROTOCOL | u128::from(SHOWN));
    let spans = bases.map(|base| shifted(&[(first, last)], base));
    spans.into_iter().flatten().collect()
}

/// Converts ranges in any order, possibly overlapping, to sorted key ranges with offset `base`.
fn shifted(ranges: &[(u16, u16)], base: u128) -> Spans {
    let mut spans: Spans = ranges
        .iter()
        .filter(|(first, last)| first <= last)
        .map(|(first, last)| (base + u128::from(*first), base + u128::from(*last)))
        .collect();
    spans.sort_unstable();
    merged(spans)
}

fn members(set: &ClassSet) -> Spans {
    let one = |class: Class| (class.0.into(), class.0.into());
    merged(set.iter().map(one).collect())
}

/// Returns the ranges of the values in a small domain for which `fits` is true.
fn runs(domain: core::ops::Range<u32>, fits: impl Fn(u32) -> bool) -> Spans {
    let values = domain.filter(|value| fits(*value));
    merged(values.map(|value| (value.into(), value.into())).collect())
}

/// Merges sorted ranges that touch or overlap.
fn merged(spans: Spans) -> Spans {
    let mut merged: Spans = Vec::with_capacity(spans.len());
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// Returns the complement of the ranges.
fn others(spans: &Spans) -> Spans {
    let (mut others, mut next) = (Vec::new(), Some(0));
    for (from, to) in spans {
        if let Some(first) = next
            && first < *from
        {
            others.push((first, from - 1));
        }
        next = to.checked_add(1);
    }
    others.extend(next.map(|first| (first, u128::MAX)));
    others
}

/// Returns the intersection of two lists of ranges.
pub(super) fn common(some: &Spans, other: &Spans) -> Spans {
    let (mut common, mut rest) = (Vec::new(), other.as_slice());
    for (from, to) in some {
        while let Some(((first, last), behind)) = rest.split_first() {
            let (low, high) = (*from.max(first), *to.min(last));
            if low <= high {
                common.push((low, high));
            }
            if last > to {
                break;
            }
            rest = behind;
        }
    }
    common
}
