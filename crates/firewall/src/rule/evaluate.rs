//! Evaluation of a matcher for a packet.

use packet::{Fields, Fragment, Tuple, protocol};

use super::action::Mss;
use super::header;
use super::matcher::{Compare, Icmp, Match, Matcher};
use super::run::Watch;
use super::subject::{Facts, Subject};
use super::worker::Worker;

/// Data that a matcher may read.
pub(super) struct MatchContext<'a, 'p, F> {
    pub(super) subject: &'a mut Subject<'p>,
    pub(super) facts: &'a F,
    pub(super) worker: &'a mut Worker,
}

/// Returns true if the matcher matches. A packet without the matched field never matches, negated or not.
#[inline]
pub(super) fn matches<F: Facts, W: Watch>(
    matcher: &Matcher,
    asked: &mut MatchContext<'_, '_, F>,
) -> bool {
    let answer = of_packet(&matcher.what, asked.subject)
        .or_else(|| of_connection(&matcher.what, asked))
        .unwrap_or_else(|| of_memory::<F, W>(&matcher.what, asked));
    answer.is_some_and(|fits| fits != matcher.negated)
}

/// Result of a group of matchers: the outer `None` means that the matcher belongs to another group, the inner
/// `None` that the packet lacks the field.
type Answer = Option<Option<bool>>;

fn within(ranges: &[(u16, u16)], port: u16) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|(first, last)| (*first..=*last).contains(&port))
}

/// Returns the ports if the packet contains them.
#[inline(always)]
pub(super) fn ports(fields: &Fields) -> Option<(u16, u16)> {
    let tuple = &fields.tuple;
    // Without short-circuit evaluation: its branches would be unpredictable.
    let shown = tuple.has_ports()
        & (fields.fragment != Fragment::Later)
        & (!fields.truncated | ((tuple.source_port | tuple.destination_port) != 0));
    shown.then_some((tuple.source_port, tuple.destination_port))
}

#[inline(always)]
pub(super) fn tcp(fields: &Fields) -> Option<u8> {
    let whole = fields.tuple.protocol == protocol::TCP
        && fields.fragment != Fragment::Later
        && !fields.truncated;
    whole.then_some(fields.tcp_flags)
}

/// Evaluates matchers of the packet's basic fields, those of the classifier first.
#[inline]
fn of_packet(what: &Match, subject: &Subject<'_>) -> Answer {
    let (fields, tuple) = (subject.fields, &subject.fields.tuple);
    Some(Some(match what {
        Match::Source(range) => range.has(tuple.source),
        Match::Destination(range) => range.has(tuple.destination),
        Match::Protocol(number) => tuple.protocol == *number,
        Match::DestinationPort(ranges) => {
            return Some(ports(fields).map(|ports| within(ranges, ports.1)));
        }
        Match::SourcePort(ranges) => {
            return Some(ports(fields).map(|ports| within(ranges, ports.0)));
        }
        Match::Port(ranges) => {
            let any = |(from, to)| within(ranges, from) || within(ranges, to);
            return Some(ports(fields).map(any));
        }
        Match::InInterface(id) => subject.ingress == *id,
        Match::OutInterface(id) => subject.egress == *id,
        Match::InInterfaceList(set) => set.has(subject.ingress),
        Match::OutInterfaceList(set) => set.has(subject.egress),
        Match::InBridgePort(id) => subject.bridge_ingress == *id,
        Match::OutBridgePort(id) => subject.bridge_egress == *id,
        Match::InBridgePortList(set) => set.has(subject.bridge_ingress),
        Match::OutBridgePortList(set) => set.has(subject.bridge_egress),
        Match::ConnectionState(states) => states.contains(subject.state),
        Match::ConnectionNatState(nat) => nat.intersects(subject.nat),
        Match::Ipsec { inbound, protected } => subject.ipsec.is_protected(*inbound) == *protected,
        Match::PacketMark(mark) => subject.marks.packet == *mark,
        Match::RoutingMark(mark) => subject.marks.routing == *mark,
        Match::ConnectionMark(mark) => subject.marks.connection == *mark,
        Match::IngressPriority(value) => {
            subject.sender.map_or(0, |sender| sender.priority) == *value
        }
        Match::Priority(value) => subject.marks.priority == *value,
        Match::TcpFlags { set, clear } => {
            return Some(tcp(fields).map(|flags| flags & (set | clear) == *set));
        }
        Match::Fragment(later) => (fields.fragment == Fragment::Later) == *later,
        Match::TlsHost(_) => return subject.changes.looked.of_host(),
        Match::Layer7(_) => return subject.changes.looked.of_layer7(),
        other => return of_header(other, subject),
    }))
}

/// Evaluates matchers of further header fields.
fn of_header(what: &Match, subject: &Subject<'_>) -> Answer {
    let (fields, packet) = (subject.fields, subject.packet);
    Some(Some(match what {
        Match::Never => return Some(None),
        Match::Link(what) => return Some(subject.bridged.and_then(|of| what.matches(&of))),
        Match::SourceMac(mac) => return Some(subject.sender.map(|sender| sender.mac == *mac)),
        Match::Ttl(Compare::Equal(ttl)) => subject.ttl() == *ttl,
        Match::Ttl(Compare::NotEqual(ttl)) => subject.ttl() != *ttl,
        Match::Ttl(Compare::Less(ttl)) => subject.ttl() < *ttl,
        Match::Ttl(Compare::Greater(ttl)) => subject.ttl() > *ttl,
        Match::Dscp(code) => subject.tos() >> 2 == *code,
        Match::Tos(tos) => subject.tos() & tos.mask == tos.value,
        Match::PacketSize(first, last) => {
            (u32::from(*first)..=u32::from(*last)).contains(&fields.len)
        }
        Match::Ipv4Options(option) => {
            let options = header::ipv4_options(packet);
            return Some((!fields.tuple.ipv6).then(|| options.fit(*option)));
        }
        Match::Headers(wanted) => {
            let present = header::ipv6_headers(packet);
            let fits = present & wanted.bits == wanted.bits;
            fits && (!wanted.exact || present == wanted.bits)
        }
        Match::TcpMss(first, last) => {
            let mss = tcp(fields).map(|_| header::mss(fields, packet));
            // The value as earlier rules lowered it; `clamp-to-pmtu` is applied only on egress.
            let lowered = |mss: u16| match subject.changes.mss {
                Some(Mss::Bytes(largest)) => mss.min(largest),
                Some(Mss::ClampToPmtu) | None => mss,
            };
            let within = |mss| (*first..=*last).contains(&lowered(mss));
            // Linux: a segment without the option is in no range.
            return Some(mss.map(|mss| mss.is_some_and(within)));
        }
        Match::Icmp(wanted) => {
            return Some(icmp(fields).map(|(kind, code)| fits_icmp(wanted, kind, code)));
        }
        Match::Content(bytes) => header::contains(packet, bytes),
        _ => return None,
    }))
}

/// Returns the type and code of an ICMP message.
#[inline(always)]
pub(super) fn icmp(fields: &Fields) -> Option<(u8, u8)> {
    let tuple = &fields.tuple;
    let right = (tuple.ipv6 & (tuple.protocol == protocol::ICMPV6))
        | (!tuple.ipv6 & (tuple.protocol == protocol::ICMP));
    let shown = right & (fields.fragment != Fragment::Later) & !fields.truncated;
    let [kind, code] = tuple.destination_port.to_be_bytes();
    shown.then_some((kind, code))
}

fn fits_icmp(wanted: &Icmp, kind: u8, code: u8) -> bool {
    kind == wanted.kind && (wanted.first..=wanted.last).contains(&code)
}

/// Evaluates matchers of the connection, the route and the time.
fn of_connection<F: Facts>(what: &Match, asked: &mut MatchContext<'_, '_, F>) -> Answer {
    let (facts, tuple) = (asked.facts, &asked.subject.fields.tuple);
    Some(match what {
        Match::SourceType(types) => {
            Some(facts.address_types(tuple.source, tuple.ipv6).meets(*types))
        }
        Match::DestinationType(types) => {
            let found = facts.address_types(tuple.destination, tuple.ipv6);
            Some(found.meets(*types))
        }
        Match::SourceList(list) => Some(asked.worker.finds(list, tuple.source)),
        Match::DestinationList(list) => Some(asked.worker.finds(list, tuple.destination)),
        Match::ConnectionBytes { first, last } => {
            let most = if *last == 0 { u64::MAX } else { *last };
            facts.bytes().map(|bytes| (*first..=most).contains(&bytes))
        }
        Match::ConnectionRate { first, last } => facts
            .rate_bps()
            .map(|rate| (*first..=*last).contains(&rate)),
        Match::Mapped => Some(facts.is_mapped(tuple)),
        Match::ConnectionType(helper) => Some(facts.helper() == Some(*helper)),
        Match::Realm(realm) => facts.realm().map(|found| found == *realm),
        Match::Hotspot { set, clear } => Some(facts.hotspot().0 & (set.0 | clear.0) == set.0),
        Match::Time(when) => Some(when.matches(&asked.worker.clock)),
        _ => return None,
    })
}

/// Evaluates matchers with state. They come last in a rule.
fn of_memory<F: Facts, W: Watch>(
    what: &Match,
    asked: &mut MatchContext<'_, '_, F>,
) -> Option<bool> {
    let (fields, now) = (asked.subject.fields, asked.worker.clock.now);
    let (tuple, len) = (&fields.tuple, fields.len);
    Some(match what {
        Match::ConnectionLimit(limit) => {
            let original = asked.facts.original();
            // A packet without connection is not counted: its end would be unknown.
            let enters = W::COMMITS && original.is_some();
            asked.subject.changes.counted |= enters;
            limit.matches(&original.unwrap_or(*tuple), enters)
        }
        Match::Psd(psd) => {
            ports(fields)?;
            psd.matches(tuple, now, W::COMMITS)
        }
        Match::TlsHost(glob) => {
            let streams = &mut asked.worker.streams;
            return streams.tls_host(asked.subject, asked.facts, glob, now, W::COMMITS);
        }
        Match::Layer7(pattern) => {
            let streams = &mut asked.worker.streams;
            return streams.layer7(asked.subject, asked.facts, pattern, now, W::COMMITS);
        }
        Match::Random(percent) => match W::COMMITS {
            true => asked.worker.rng.percent(*percent),
            false => asked.worker.rng.clone().percent(*percent),
        },
        Match::Nth(nth) => nth.matches(W::COMMITS),
        Match::PerConnection {
            key,
            denominator,
            remainder,
        } => key.hash(&shown(fields)) % (*denominator).max(1) == *remainder,
        Match::Limit(limit) => limit.matches(len, now, W::COMMITS),
        Match::DstLimit(limit) => limit.matches(&shown(fields), len, now, W::COMMITS),
        _ => return None,
    })
}

/// Returns the tuple with zero ports if the packet contains none.
fn shown(fields: &Fields) -> Tuple {
    let (source_port, destination_port) = ports(fields).unwrap_or_default();
    Tuple {
        source_port,
        destination_port,
        ..fields.tuple
    }
}
