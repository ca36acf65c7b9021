//! Requests of features to RADIUS servers: the client machine, and a source port for each of its lines.

use core::net::{IpAddr, SocketAddr};
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use dataplane::DropReason;
use dataplane::gate::PerSender;
use dataplane::service::{Addressed, Match, Rate, Service};
use frame::InterfaceId;
use machine::{Instant, Machine as _, Rng};
use service::radius::{Action, Answer, Client, Event, LineId, Query, Request, Server};

use super::counters::Counters;
use crate::feature::hear::Datagram;
use crate::feature::{Effect, Effects};

/// Name of the service that receives answers.
pub(super) const SERVICE: &str = "radius";
/// Source ports of requests.
const PORTS: RangeInclusive<u16> = 28_672..=32_767;
/// Limit of answers that a worker passes to control, per second and as a burst. One server may use all of it: its
/// answers are bounded by the requests in flight.
const RATE: Rate = Rate {
    per_second: 100_000,
    burst: 8_192,
};

/// Request of a feature to RADIUS servers. [`Feature::radius_answered`](crate::feature::Feature::radius_answered)
/// receives the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RadiusQuery {
    /// Feature that receives the answer, by its [`name`](crate::feature::Feature::name).
    pub(crate) feature: &'static str,
    /// Number that the feature chooses. The request replaces an open request with this number.
    pub(crate) number: u64,
    /// Request. The name of the router and the time are filled in.
    pub(crate) request: Request,
    /// Item id of the only server to ask; `None` for all servers of the service.
    pub(crate) server: Option<u64>,
}

/// Answer to a request of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RadiusAnswer {
    /// Feature that sent the request.
    pub(crate) feature: &'static str,
    /// Number of the request.
    pub(crate) number: u64,
    /// Answer.
    pub(crate) answer: Answer,
}

/// Feature and number of a request.
type Key = (&'static str, u64);

/// Requests of features in progress.
#[derive(Debug)]
pub(super) struct Dispatch {
    client: Client<Key>,
    /// Source port of each line.
    ports: BTreeMap<LineId, u16>,
    lines: BTreeMap<u16, LineId>,
    /// Unpredictable numbers for ports.
    rng: Rng,
    pub(super) counters: Counters,
}

impl Dispatch {
    pub(super) fn new(mut rng: Rng) -> Self {
        Self {
            client: Client::new(rng.split()),
            ports: BTreeMap::new(),
            lines: BTreeMap::new(),
            rng,
            counters: Counters::default(),
        }
    }

    /// Returns the service that receives answers.
    pub(super) fn service() -> Service {
        let ports = [false, true].map(|ipv6| Match::UdpPorts {
            ipv6,
            first: *PORTS.start(),
            last: *PORTS.end(),
        });
        Service {
            addressed: Addressed::Own,
            per_sender: PerSender::Address(RATE),
            ..Service::new(SERVICE, ports, RATE)
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.client.deadline().map(|(at, _)| at)
    }

    pub(super) fn set_servers(&mut self, servers: Vec<Server>, now: Instant, out: &mut Effects) {
        self.handle(Event::Servers(servers), now, out);
    }

    pub(super) fn query(&mut self, query: RadiusQuery, now: Instant, out: &mut Effects) {
        let RadiusQuery {
            feature,
            number,
            request,
            server,
        } = query;
        let query = Box::new(Query { request, server });
        self.handle(Event::Query((feature, number), query), now, out);
    }

    pub(super) fn cancel(
        &mut self,
        feature: &'static str,
        number: u64,
        now: Instant,
        out: &mut Effects,
    ) {
        self.handle(Event::Cancel((feature, number)), now, out);
    }

    /// Handles a datagram to a port. Returns false if the port has no line.
    pub(super) fn receive(
        &mut self,
        port: u16,
        from: SocketAddr,
        bytes: &[u8],
        now: Instant,
        out: &mut Effects,
    ) -> bool {
        let Some(line) = self.lines.get(&port).copied() else {
            return false;
        };
        self.handle(Event::Received { line, from, bytes }, now, out);
        true
    }

    pub(super) fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.client.tick(now, &mut actions);
        self.carry_out(actions, out);
    }

    fn handle(&mut self, event: Event<'_, Key>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.client.handle(event, now, &mut actions);
        self.carry_out(actions, out);
    }

    fn carry_out(&mut self, actions: Vec<Action<Key>>, out: &mut Effects) {
        for action in actions {
            self.counters.count(&action);
            match action {
                Action::Send {
                    line,
                    to,
                    source,
                    bytes,
                } => self.send(line, to, source, bytes, out),
                Action::Close(line) => {
                    if let Some(port) = self.ports.remove(&line) {
                        self.lines.remove(&port);
                    }
                }
                Action::Done((feature, number), answer) => {
                    out.push(Effect::RadiusAnswer(Box::new(RadiusAnswer {
                        feature,
                        number,
                        answer: *answer,
                    })));
                }
                Action::Overflow => out.push(Effect::Lost(DropReason::RadiusRequests, 1)),
                Action::Count(..) | Action::Answered(..) => {}
            }
        }
    }

    fn send(
        &mut self,
        line: LineId,
        to: SocketAddr,
        source: Option<IpAddr>,
        data: Vec<u8>,
        out: &mut Effects,
    ) {
        let Some(from) = self.port(line) else {
            return out.push(Effect::Lost(DropReason::RadiusRequests, 1));
        };
        out.push(Effect::Datagram(Box::new(Datagram {
            source,
            from,
            to,
            interface: InterfaceId::NONE,
            data,
        })));
    }

    /// Returns the source port of a line. A new line gets an unused random one; `None` if all are used.
    fn port(&mut self, line: LineId) -> Option<u16> {
        if let Some(port) = self.ports.get(&line) {
            return Some(*port);
        }
        let span = u32::from(PORTS.end() - PORTS.start()) + 1;
        if self.lines.len() >= span as usize / 2 {
            return None;
        }
        loop {
            let port = PORTS.start() + (self.rng.next_u32() % span) as u16;
            if !self.lines.contains_key(&port) {
                self.ports.insert(line, port);
                self.lines.insert(port, line);
                return Some(port);
            }
        }
    }
}
