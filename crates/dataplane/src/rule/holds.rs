//! Whether a matcher holds for a packet.

use super::matcher::{Compare, Match, Matcher};
use super::run::Watch;
use super::subject::{Facts, Subject};
use super::worker::Worker;
use crate::packet::{Fragment, protocol};

/// What a matcher may read.
pub(super) struct Asked<'a, 'p, F> {
    pub(super) subject: &'a mut Subject<'p>,
    pub(super) facts: &'a F,
    pub(super) worker: &'a mut Worker,
}

/// Whether it holds. What the packet does not have fails, negated or not.
#[inline]
pub(super) fn holds<F: Facts, W: Watch>(matcher: &Matcher, asked: &mut Asked<'_, '_, F>) -> bool {
    answer::<F, W>(&matcher.what, asked).is_some_and(|fits| fits != matcher.negated)
}

fn within(ranges: &[(u16, u16)], port: u16) -> bool {
    ranges
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&port))
}

/// None where the packet does not have what is asked for.
fn answer<F: Facts, W: Watch>(what: &Match, asked: &mut Asked<'_, '_, F>) -> Option<bool> {
    let subject = &mut *asked.subject;
    let (fields, tuple) = (subject.fields, &subject.fields.tuple);
    let ports = || {
        let shown = tuple.has_ports() && fields.fragment != Fragment::Later && !fields.truncated;
        shown.then_some((tuple.source_port, tuple.destination_port))
    };
    Some(match what {
        Match::Never => return None,
        Match::SourceMac(mac) => subject.source_mac? == *mac,
        Match::InInterface(id) => subject.ingress == *id,
        Match::OutInterface(id) => subject.egress == *id,
        Match::InInterfaceList(set) => set.has(subject.ingress),
        Match::OutInterfaceList(set) => set.has(subject.egress),
        Match::Source(range) => range.has(tuple.source),
        Match::Destination(range) => range.has(tuple.destination),
        Match::Protocol(number) => tuple.protocol == *number,
        Match::DestinationPort(ranges) => within(ranges, ports()?.1),
        Match::SourcePort(ranges) => within(ranges, ports()?.0),
        Match::Port(ranges) => {
            let (source, destination) = ports()?;
            within(ranges, source) || within(ranges, destination)
        }
        Match::TcpFlags { set, clear } => {
            if tuple.protocol != protocol::TCP || fields.truncated {
                return None;
            }
            fields.tcp_flags & (set | clear) == *set
        }
        Match::Ttl(compare) => match *compare {
            Compare::Equal(ttl) => subject.ttl() == ttl,
            Compare::NotEqual(ttl) => subject.ttl() != ttl,
            Compare::Less(ttl) => subject.ttl() < ttl,
            Compare::Greater(ttl) => subject.ttl() > ttl,
        },
        Match::Dscp(code) => subject.tos() >> 2 == *code,
        Match::PacketMark(mark) => subject.marks.packet == *mark,
        Match::RoutingMark(mark) => subject.marks.routing == *mark,
        Match::ConnectionMark(mark) => subject.marks.connection == *mark,
        Match::ConnectionState(states) => states.has(subject.state),
        Match::ConnectionNatState(nat) => nat.meets(subject.nat),
        _ => return None,
    })
}
