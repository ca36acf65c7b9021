//! The parts of a packet that rules are told apart by, each as a number; and the spans of that
//! number that a matcher holds for.

/// How many packets are looked up together: those whose connections are.
pub use conntrack::connection::TOGETHER;
use conntrack::connection::{NatState, State};
use packet::link::Link;
use packet::{Fields, Tuple, protocol};

use crate::rule::address::{AddressRange, Class, ClassSet};
use crate::rule::holds;
use crate::rule::link::{self, LinkMatch};
use crate::rule::matcher::{Icmp, Match, Matcher};
use crate::rule::subject::{Ipsec, Marks, Subject};

/// Packets, as the classifier reads them: one, or a vector of them. `at` is the packet's place.
pub trait Packets {
    /// How many there are.
    fn len(&self) -> usize;
    /// Its fields.
    fn fields(&self, at: usize) -> &Fields;
    /// The classes of the interfaces that it came by and leaves by.
    fn classes(&self, at: usize) -> (Class, Class);
    /// What its connection is.
    fn state(&self, at: usize) -> (State, NatState);
    /// What IPsec has to do with it.
    fn ipsec(&self, at: usize) -> Ipsec;
    /// Its marks, as they are now.
    fn marks(&self, at: usize) -> Marks;

    /// What its link header says, where rules of bridges look at it.
    #[inline(always)]
    fn link(&self, _at: usize) -> Option<&Link> {
        None
    }

    /// The classes of the bridges that it came by and leaves by.
    #[inline(always)]
    fn bridges(&self, _at: usize) -> (Class, Class) {
        (Class::NONE, Class::NONE)
    }

    /// The numbers of a part of all of them, [`TOGETHER`] at most, where they are at hand; what lies
    /// behind the last packet's means nothing.
    #[inline(always)]
    fn column(&self, _of: Of) -> Option<&[u32; TOGETHER]> {
        None
    }

    /// The same of addresses of IPv6 and of links, these in the upper 64 bits.
    #[inline(always)]
    fn addresses(&self, _of: Of) -> Option<&[u128; TOGETHER]> {
        None
    }

    /// Whether there are none.
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

/// A part of a packet, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Of {
    /// The source address; of IPv6 it is no number of 32 bits.
    Source,
    /// The destination address.
    Destination,
    /// Protocol, whether ports (or an ICMP type) are shown, and the destination port (or the type
    /// and code).
    Service,
    /// Whether ports are shown, and the source port.
    SourcePort,
    /// The class of the interface that it came by.
    Ingress,
    /// The class of the interface that it leaves by.
    Egress,
    /// Translation and state of the connection.
    State,
    /// Whether flags of TCP are shown, and they.
    TcpFlags,
    /// What IPsec has to do with it.
    Ipsec,
    /// The packet's mark.
    PacketMark,
    /// The mark that chooses a routing table.
    RoutingMark,
    /// The connection's mark.
    ConnectionMark,
    /// The source of a frame, as a long number.
    SourceMac,
    /// The destination of a frame.
    DestinationMac,
    /// What a frame says that it carries, and whether an IP header is there.
    Kind,
    /// The tag of a frame.
    Tag,
    /// The class of the bridge that it came by.
    InBridge,
    /// The class of the bridge that it leaves by.
    OutBridge,
}

impl Of {
    /// The number of [`Self::Service`] of a whole TCP segment or UDP datagram.
    #[inline(always)]
    pub fn service(tuple: &Tuple) -> u32 {
        Self::service_of(tuple.protocol.into(), tuple.destination_port.into())
    }

    /// The same of this protocol and the destination port in the lower half of its ports.
    #[inline(always)]
    pub fn service_of(protocol: u32, ports: u32) -> u32 {
        protocol << PROTOCOL | SHOWN | ports & 0xffff
    }

    /// The number of [`Self::Service`] of any packet, a fragment or one that is cut short included.
    #[inline(always)]
    pub fn service_shown(fields: &Fields) -> u32 {
        let number = u32::from(fields.tuple.protocol) << PROTOCOL;
        let shown = holds::ports(fields).is_some() | holds::icmp(fields).is_some();
        let what = SHOWN | u32::from(fields.tuple.destination_port);
        number | what & u32::from(shown).wrapping_neg()
    }

    /// The number of [`Self::SourcePort`].
    #[inline(always)]
    pub fn source_port(fields: &Fields) -> u32 {
        let shown = holds::ports(fields);
        shown.map_or(0, |(port, _)| SHOWN | u32::from(port))
    }

    /// The number of [`Self::TcpFlags`].
    #[inline(always)]
    pub fn tcp_flags(fields: &Fields) -> u32 {
        holds::tcp(fields).map_or(0, |flags| 0x100 | u32::from(flags))
    }

    /// The number of [`Self::State`].
    #[inline(always)]
    pub fn state(state: State, nat: NatState) -> u32 {
        u32::from(nat.0) << 3 | state as u32
    }

    /// The number of [`Self::Kind`] of a frame whose IP header is there, or is none.
    #[inline(always)]
    pub fn kind(kind: u16, has_ip: bool) -> u32 {
        u32::from(kind) | u32::from(has_ip) << 16
    }

    /// The number of an address of a link.
    #[inline(always)]
    pub fn mac(mac: wire::Mac) -> u128 {
        link::mac_number(mac)
    }

    /// The number of [`Self::Tag`].
    #[inline(always)]
    pub fn tag(link: &Link) -> u32 {
        link::tag_number(link)
    }

    /// Whether its numbers may have more than 32 bits.
    pub(super) const fn is_long(self) -> bool {
        matches!(
            self,
            Self::Source | Self::Destination | Self::SourceMac | Self::DestinationMac
        )
    }

    /// Whether rules can change it.
    pub(super) const fn is_mark(self) -> bool {
        matches!(
            self,
            Self::PacketMark | Self::RoutingMark | Self::ConnectionMark
        )
    }
}

/// Some parts of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u32);

impl Parts {
    /// Whether it has one of these.
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

/// How many parts there are.
pub(super) const PARTS: usize = 18;

/// From and to, both included; in order, and apart from each other.
pub(in crate::rule) type Spans = Vec<(u128, u128)>;

const SHOWN: u32 = 1 << 16;
const PROTOCOL: u32 = 17;

/// An address as a number of 32 bits; beyond them the greatest.
#[inline(always)]
pub(super) fn narrow(address: u128) -> u32 {
    u32::try_from(address).unwrap_or(u32::MAX)
}

/// A packet's number of a part.
#[inline(always)]
pub(super) fn key<P: Packets>(of: Of, packets: &P, at: usize) -> u32 {
    // Where it is at hand, the fields may not have been read.
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

/// The number of the class of a frame's bridge.
#[inline(always)]
fn bridge<P: Packets>(packets: &P, at: usize, class: Class) -> u32 {
    packets.link(at).map_or(link::NONE, |_| class.0.into())
}

/// A packet's address, of the source or of the destination, or those of its frame.
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

/// The part that a matcher asks about and the spans that it holds for; none where it asks something
/// else. What the spans say is exact.
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

/// The same of what is asked of a frame, with what all are that have it.
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

/// All that a protocol has.
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

/// Ranges in any order that may overlap, as spans above `base`.
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

/// The values of a small domain that fit.
fn runs(domain: core::ops::Range<u32>, fits: impl Fn(u32) -> bool) -> Spans {
    let values = domain.filter(|value| fits(*value));
    merged(values.map(|value| (value.into(), value.into())).collect())
}

/// Spans in order by their beginning, with those that touch or overlap made one.
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

/// What lies in none of them.
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

/// What lies in both.
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
