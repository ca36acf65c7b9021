//! Requests of features to RADIUS servers: the client machine, and a source port for each of its lines.

use core::net::{IpAddr, SocketAddr};
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::gate::PerSender;
use dataplane::service::{Addressed, Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine as _, Rng};
use service::radius::{
    Action, Answer, Client, Count, Event, LineId, Outcome, Query, Request, RouterStatus, Server,
    Service as User, TlsServer,
};

use super::counters::Counters;
use super::marks::Marks;
use super::reports::Reports;
use crate::feature::hear::Datagram;
use crate::feature::{Effect, Effects};
use crate::records::Recalled;

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

/// Owners of requests in [`Key`] that no feature sends: reports of ended sessions, start and end of accounting.
const REPORT: &str = "radius report";
const ON: &str = "radius accounting-on";
const OFF: &str = "radius accounting-off";

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

/// Order to the owner of connections over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecureOrder {
    /// Send a packet on the connection of a line; open one if there is none.
    Send {
        /// Line.
        line: LineId,
        /// Address and port of the server.
        to: SocketAddr,
        /// Source address, if configured.
        source: Option<IpAddr>,
        /// Settings of the server.
        tls: Arc<TlsServer>,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// Close the connection of a line.
    Close(LineId),
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
    /// Ends of accounted sessions that no server has answered.
    reports: Reports,
    /// Start and end of accounting at each server.
    marks: Marks,
    /// Orders that the owner of connections has not taken, and the lines with a connection.
    orders: Vec<SecureOrder>,
    secure_lines: BTreeSet<LineId>,
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
            reports: Reports::default(),
            marks: Marks::default(),
            orders: Vec::new(),
            secure_lines: BTreeSet::new(),
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
        let answer = self.client.deadline().map(|(at, _)| at);
        let others = self.reports.deadline().into_iter();
        let others = others.chain(self.marks.deadline());
        answer.into_iter().chain(others).min()
    }

    pub(super) fn set_servers(&mut self, servers: Vec<Server>, now: Instant, out: &mut Effects) {
        self.marks.set_servers(&servers);
        self.handle(Event::Servers(servers), now, out);
    }

    pub(super) fn query(&mut self, query: RadiusQuery, now: Instant, out: &mut Effects) {
        let RadiusQuery {
            feature,
            number,
            request,
            server,
        } = query;
        let query = Box::new(Query {
            request,
            server,
            since: Some(now),
            age: Duration::ZERO,
        });
        let key = match query.request.is_stop() {
            true => (REPORT, self.reports.begin(&query, now)),
            false => (feature, number),
        };
        self.handle(Event::Query(key, query), now, out);
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

    /// Handles a packet from the connection of a line.
    pub(super) fn receive_secure(
        &mut self,
        line: LineId,
        from: SocketAddr,
        bytes: &[u8],
        now: Instant,
        out: &mut Effects,
    ) {
        self.handle(Event::Received { line, from, bytes }, now, out);
    }

    /// Removes and returns the orders to the owner of connections.
    pub(super) fn take_orders(&mut self) -> Vec<SecureOrder> {
        core::mem::take(&mut self.orders)
    }

    pub(super) fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.client.tick(now, &mut actions);
        self.carry_out(actions, now, out);
        for (number, report) in self.reports.due(now) {
            self.handle(Event::Query((REPORT, number), report), now, out);
        }
        self.reports.write_due(now, out);
    }

    /// Notes the configured servers: those of the first call receive Accounting-On.
    pub(super) fn set_configured(&mut self, servers: &[u64], now: Instant) {
        self.marks.start(servers.iter().copied(), now);
        self.marks.retain(|id| servers.contains(&id));
    }

    /// Records whether sessions of a service are accounted.
    pub(super) fn set_accounting(&mut self, service: User, is_on: bool) {
        self.marks.set_accounting(service, is_on);
    }

    /// Sends Accounting-On to the servers that have not received it. `clock` is the time of day in seconds since 1970;
    /// `identity` is the name of the router.
    pub(super) fn send_marks(
        &mut self,
        identity: &str,
        clock: i64,
        now: Instant,
        out: &mut Effects,
    ) {
        for (server, query) in self.marks.due(identity, clock, now) {
            self.handle(Event::Query((ON, server), query), now, out);
        }
    }

    /// Sends Accounting-Off to all servers that received Accounting-On.
    pub(super) fn say_farewell(
        &mut self,
        identity: &str,
        clock: i64,
        now: Instant,
        out: &mut Effects,
    ) {
        for (server, query) in self.marks.end(identity, clock, now) {
            self.handle(Event::Cancel((ON, server)), now, out);
            self.handle(Event::Query((OFF, server), query), now, out);
        }
    }

    /// True if a server has not acknowledged an Accounting-Off, or a report that is on its way.
    pub(super) fn is_parting(&self) -> bool {
        self.marks.is_parting() || self.reports.has_in_flight()
    }

    /// Stores all reports that no server has acknowledged.
    pub(super) fn write_reports(&mut self, out: &mut Effects) {
        self.reports.write(out);
    }

    /// Restores the report of a session's end from before a restart. Returns false if it is unreadable.
    pub(super) fn recall(&mut self, recalled: &Recalled<'_>, now: Instant) -> bool {
        self.reports.recall(recalled, now)
    }

    /// Keeps the report of a login's end until a server answers.
    pub(super) fn keep(&mut self, report: Box<Query>, now: Instant, out: &mut Effects) {
        let number = self.reports.begin(&report, now);
        self.reports.keep(number, report, now, out);
    }

    fn handle(&mut self, event: Event<'_, Key>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.client.handle(event, now, &mut actions);
        self.carry_out(actions, now, out);
    }

    fn carry_out(&mut self, actions: Vec<Action<Key>>, now: Instant, out: &mut Effects) {
        for action in actions {
            self.counters.count(&action);
            match action {
                Action::Send {
                    line,
                    to,
                    source,
                    tls: None,
                    bytes,
                } => self.send(line, to, source, bytes, out),
                Action::Send {
                    line,
                    to,
                    source,
                    tls: Some(tls),
                    bytes,
                } => {
                    self.secure_lines.insert(line);
                    self.orders.push(SecureOrder::Send {
                        line,
                        to,
                        source,
                        tls,
                        bytes,
                    });
                }
                Action::Close(line) => {
                    if self.secure_lines.remove(&line) {
                        self.orders.push(SecureOrder::Close(line));
                    }
                    if let Some(port) = self.ports.remove(&line) {
                        self.lines.remove(&port);
                    }
                }
                Action::Unanswered((_, number), report) => {
                    self.reports.keep(number, report, now, out);
                }
                Action::Done((REPORT, number), answer) => {
                    let is_answered = answer.outcome != Outcome::Nobody;
                    self.reports.answered(number, is_answered, now, out);
                }
                Action::Done((ON, server), answer) => {
                    let is_answered = answer.outcome != Outcome::Nobody;
                    self.marks
                        .answered(server, RouterStatus::On, is_answered, now);
                }
                Action::Done((OFF, server), answer) => {
                    let is_answered = answer.outcome != Outcome::Nobody;
                    self.marks
                        .answered(server, RouterStatus::Off, is_answered, now);
                }
                Action::Done((feature, number), answer) => {
                    out.push(Effect::RadiusAnswer(Box::new(RadiusAnswer {
                        feature,
                        number,
                        answer: *answer,
                    })));
                }
                Action::Overflow => out.push(Effect::Lost(DropReason::RadiusRequests, 1)),
                Action::Count(id, Count::Unsigned) => self.warn_of_unsigned(id, out),
                Action::Answered(server, _) => self.marks.heard_from(server, now),
                Action::Count(..) => {}
            }
        }
    }

    /// Logs the first answer of a server without the demanded Message-Authenticator.
    fn warn_of_unsigned(&self, id: u64, out: &mut Effects) {
        let address = self.client.address(id);
        if let Some(address) = address.filter(|_| self.counters.unsigned(id) == 1) {
            let message = format!(
                "answers of {address} have no Message-Authenticator and are dropped: update the server (FreeRADIUS \
                 3.2.5), or set require-message-auth=no"
            );
            out.log("radius,warning", message);
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
