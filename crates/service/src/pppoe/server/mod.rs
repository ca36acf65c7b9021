//! PPPoE servers of all interfaces of a router (RFC 2516, 5; RFC 4638; TR-101 for the subscriber's line).
//!
//! The server keeps no state before a PADR: the cookie of an offer carries the time and the service, and a MAC
//! (HMAC-SHA-256) over them, the port and the client's address. A PADR that repeats a cookie whose session is open gets
//! the PADS of that session again. Numbers of sessions are used again only after all others of the port.
//!
//! Overload: while many sessions are half-made, offers wait, so that clients that have begun get through first. A
//! client whose session number nobody used for PPP is the first to go when a port has too many of them.

mod cookie;
mod numbers;
mod request;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;
use wire::pppoe::{Builder, Discovery, Packet, code, tag};

use self::cookie::{Cookie, CookieFault, Cookies};
use self::numbers::Numbers;
use self::request::{Offer, Request};
use self::sessions::Session;
pub use self::sessions::Sessions;
use super::limiter::Limiter;
use super::{frame, termination};
use crate::Frame;

/// Offers that wait, for all ports.
const OFFERS_MAX: usize = 1 << 16;
/// Delay of offers for each half-made session, and the longest.
const DELAY_PER_SESSION: Duration = Duration::from_micros(250);
const DELAY_MAX: Duration = Duration::from_secs(3);
/// Half-made sessions that do not delay offers.
const UNDELAYED: usize = 512;

/// A session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    /// Port that the owner numbered.
    pub port: u64,
    /// Address of the client.
    pub peer: Mac,
    /// Session number.
    pub number: u16,
}

/// A service on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Number that the owner chose.
    pub id: u64,
    /// Name.
    pub name: Box<str>,
    /// Whether clients that request any service get it.
    pub accepts_empty: bool,
    /// Delay of offers.
    pub pado_delay: Duration,
    /// Maximum number of sessions on the port; `None`: unlimited.
    pub max_sessions: Option<u32>,
    /// Whether another session of a client closes its first.
    pub one_session_per_host: bool,
    /// Largest PPP payload in bytes, if above 1,492 (RFC 4638).
    pub max_payload: Option<u16>,
}

/// Events of the server.
#[derive(Debug)]
pub enum Event<'a> {
    /// Name of this router, in AC-Name.
    Name(&'a str),
    /// Services of a port; none removes the port. Sessions of services that are gone end.
    Configure(u64, Vec<Service>),
    /// A discovery packet arrived.
    Received {
        /// Port.
        port: u64,
        /// Source address.
        from: Mac,
        /// Packet.
        packet: Packet<'a>,
    },
    /// A PPP control packet arrived that belongs to no session: the other end still has a session of before a restart.
    Stray(SessionId),
    /// The first PPP packet of a session arrived.
    Heard(SessionId),
    /// The session is authenticated: no longer half-made.
    Established(SessionId),
    /// Close a session.
    Close(SessionId),
}

/// Actions that the owner carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame on a port.
    Send(u64, Frame),
    /// A session is open.
    Opened(Box<Opened>),
    /// A session ended; the owner did not request it.
    Closed(SessionId, Reason),
    /// A packet was ignored.
    Ignored(Fault),
}

/// A new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Session.
    pub session: SessionId,
    /// Number of its service.
    pub service: u64,
    /// Agent Circuit ID of the subscriber's line.
    pub circuit_id: Option<Box<[u8]>>,
    /// Agent Remote ID of the subscriber's line.
    pub remote_id: Option<Box<[u8]>>,
    /// Largest PPP payload that both ends accept, if above 1,492.
    pub max_payload: Option<u16>,
}

/// Reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The client sent a PADT.
    Terminated,
    /// The client opened another session (`one-session-per-host`).
    Replaced,
    /// The client sent no PPP packet, and the number of such sessions reached its limit.
    Silent,
    /// The service is gone.
    ServiceGone,
}

/// Reason why a packet is ignored or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A tag exceeds the packet, or is too long to be repeated.
    Malformed,
    /// A code that clients do not send, or a source address that is a group's.
    Code,
    /// No service of the port has the requested name.
    Service,
    /// A PADR without cookie.
    NoCookie,
    /// The cookie is not this server's.
    Cookie,
    /// The cookie is too old.
    CookieAge,
    /// The source exceeds the limit of packets per second.
    Rate,
    /// The service has the maximum number of sessions, or the port has no number left.
    Full,
    /// Too many offers wait.
    Overload,
    /// A PADT for a session that does not exist.
    NoSession,
}

/// A port with services.
#[derive(Debug)]
struct Port {
    services: Vec<Service>,
    numbers: Numbers,
    /// Number of sessions by service.
    counts: BTreeMap<u64, u32>,
}

impl Port {
    fn service(&self, id: u64) -> Option<&Service> {
        self.services.iter().find(|service| service.id == id)
    }

    fn is_full(&self, service: &Service) -> bool {
        let count = self.counts.get(&service.id).copied().unwrap_or(0);
        service.max_sessions.is_some_and(|max| count >= max) || self.numbers.is_empty()
    }
}

/// Servers of all ports.
#[derive(Debug)]
pub struct Server {
    name: Box<str>,
    cookies: Cookies,
    limiter: Limiter,
    ports: BTreeMap<u64, Port>,
    sessions: Sessions,
    offers: BTreeMap<(Instant, u64), Offer>,
    /// Port, client and service of offers that wait.
    offered: BTreeSet<(u64, Mac, u64)>,
    sequence: u64,
    rng: Rng,
}

/// Where and when a packet came from.
#[derive(Clone, Copy)]
struct Arrival {
    port: u64,
    from: Mac,
    now: Instant,
}

impl Machine for Server {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = &'static str;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Name(name) => self.name = name.into(),
            Event::Configure(port, services) => self.configure(port, services, out),
            Event::Received { port, from, packet } => {
                let arrival = Arrival { port, from, now };
                if let Err(fault) = self.receive(arrival, &packet, out) {
                    out.push(Action::Ignored(fault));
                }
            }
            Event::Stray(id) => self.stray(id, now, out),
            Event::Heard(id) => self.sessions.set_heard(id),
            Event::Established(id) => self.sessions.set_established(id),
            Event::Close(id) => _ = self.close(id, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some(entry) = self.offers.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let offer = entry.remove();
            self.offered.remove(&offer.key());
            self.send_offer(&offer, now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, &'static str)> {
        let (at, _) = self.offers.first_key_value()?.0;
        Some((*at, "offer"))
    }
}

impl Server {
    /// Creates a server without ports. `secrets` must be unpredictable.
    pub fn new(secrets: &mut Rng) -> Self {
        Self {
            name: Box::default(),
            cookies: Cookies::new(secrets),
            limiter: Limiter::new(secrets),
            ports: BTreeMap::new(),
            sessions: Sessions::default(),
            offers: BTreeMap::new(),
            offered: BTreeSet::new(),
            sequence: 0,
            rng: secrets.split(),
        }
    }

    /// The sessions.
    pub const fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns a cookie that an offer would carry.
    #[cfg(test)]
    pub(super) fn seal_for_test(
        &self,
        port: u64,
        peer: Mac,
        service: u64,
        stamp: u64,
        now: Instant,
    ) -> Vec<u8> {
        let stamp = now.as_nanos() - stamp;
        let cookie = Cookie { stamp, service };
        self.cookies.seal(&cookie, port, peer).to_vec()
    }

    fn configure(&mut self, number: u64, services: Vec<Service>, out: &mut Vec<Action>) {
        let is_known = |service: u64| services.iter().any(|known| known.id == service);
        let of_port = self.sessions.on_port(number);
        let gone = of_port.filter(|(_, session)| !is_known(session.service));
        let gone: Vec<_> = gone.map(|(id, _)| id).collect();
        for id in gone {
            self.close_with(id, Reason::ServiceGone, out);
        }
        match self.ports.get_mut(&number) {
            _ if services.is_empty() => _ = self.ports.remove(&number),
            Some(port) => port.services = services,
            None => {
                let port = Port {
                    services,
                    numbers: Numbers::new(&mut self.rng),
                    counts: BTreeMap::new(),
                };
                self.ports.insert(number, port);
            }
        }
    }

    fn receive(
        &mut self,
        arrival: Arrival,
        packet: &Packet<'_>,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let Arrival { port, from, now } = arrival;
        if from.is_multicast() {
            return Err(Fault::Code);
        }
        match packet.code {
            code::PADI | code::PADR => {
                if !self.limiter.admit(port, from, now) {
                    return Err(Fault::Rate);
                }
                let fields = Discovery::parse(packet).map_err(|_| Fault::Malformed)?;
                let request = Request::new(&fields)?;
                match packet.code {
                    code::PADI => self.receive_initiation(arrival, request, out),
                    _ => self.receive_request(arrival, &request, &fields, out),
                }
            }
            code::PADT => {
                let id = SessionId {
                    port,
                    peer: from,
                    number: packet.session,
                };
                if !self.end(id) {
                    return Err(Fault::NoSession);
                }
                out.push(Action::Closed(id, Reason::Terminated));
                Ok(())
            }
            _ => Err(Fault::Code),
        }
    }

    fn receive_initiation(
        &mut self,
        arrival: Arrival,
        request: Request,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let port = self.ports.get(&arrival.port).ok_or(Fault::Service)?;
        let wanted = port.services.iter();
        let wanted = wanted.filter(|service| request.is_for(service));
        let (free, full): (Vec<_>, Vec<_>) = wanted.partition(|service| !port.is_full(service));
        if free.is_empty() {
            return Err(match full.is_empty() {
                true => Fault::Service,
                false => Fault::Full,
            });
        }
        let free = free
            .into_iter()
            .map(|service| (service.id, service.pado_delay));
        let free: Vec<_> = free.collect();
        for (service, delay) in free {
            let offer = Offer {
                port: arrival.port,
                peer: arrival.from,
                service,
                request: request.clone(),
            };
            match delay + self.load_delay() {
                Duration::ZERO => self.send_offer(&offer, arrival.now, out),
                delay => self.delay_offer(offer, arrival.now + delay)?,
            }
        }
        Ok(())
    }

    /// Delay of offers by the number of half-made sessions.
    fn load_delay(&self) -> Duration {
        let half_made = self.sessions.half_made();
        let load = u32::try_from(half_made.saturating_sub(UNDELAYED)).unwrap_or(u32::MAX);
        DELAY_MAX.min(DELAY_PER_SESSION.saturating_mul(load))
    }

    /// Lets an offer wait. A client that repeats its PADI meanwhile does not get a second offer.
    fn delay_offer(&mut self, offer: Offer, until: Instant) -> Result<(), Fault> {
        if self.offers.len() >= OFFERS_MAX {
            return Err(Fault::Overload);
        }
        if self.offered.insert(offer.key()) {
            self.sequence += 1;
            self.offers.insert((until, self.sequence), offer);
        }
        Ok(())
    }

    fn send_offer(&mut self, offer: &Offer, now: Instant, out: &mut Vec<Action>) {
        let port = self.ports.get(&offer.port);
        let Some(service) = port.and_then(|port| port.service(offer.service)) else {
            return;
        };
        let cookie = Cookie {
            stamp: self.cookies.stamp(now),
            service: offer.service,
        };
        let cookie = self.cookies.seal(&cookie, offer.port, offer.peer);
        let mut packet = { offer.request.answer(code::PADO, 0) }
            .tag(tag::AC_NAME, self.name.as_bytes())
            .tag(tag::AC_COOKIE, &cookie);
        if offer.request.service_name.as_deref() != Some(service.name.as_bytes()) {
            packet = packet.tag(tag::SERVICE_NAME, service.name.as_bytes());
        }
        let packet = with_max_payload(packet, offer.request.max_payload(service));
        out.push(Action::Send(offer.port, frame(offer.peer, packet.finish())));
    }

    fn receive_request(
        &mut self,
        arrival: Arrival,
        request: &Request,
        fields: &Discovery<'_>,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let Arrival { port, from, now } = arrival;
        let cookie = fields.cookie.ok_or(Fault::NoCookie)?;
        let cookie = self.cookies.open(cookie, port, from, now);
        let cookie = cookie.map_err(|fault| match fault {
            CookieFault::Wrong => Fault::Cookie,
            CookieFault::Old => Fault::CookieAge,
        })?;
        if let Some((id, max_payload)) = self.sessions.with_stamp(port, from, cookie.stamp) {
            out.push(confirmation(id, request, max_payload, &self.name));
            return Ok(());
        }
        let services = self.ports.get(&port);
        let service = services.and_then(|services| services.service(cookie.service));
        let Some(service) = service.filter(|service| request.is_for(service)).cloned() else {
            out.push(refusal(
                arrival,
                request,
                tag::SERVICE_NAME_ERROR,
                "no such service",
            ));
            return Err(Fault::Service);
        };
        if service.one_session_per_host {
            for id in self.sessions.of_peer(port, from, service.id) {
                self.close_with(id, Reason::Replaced, out);
            }
        }
        let Some(id) = self.new_session(arrival, &service) else {
            out.push(refusal(
                arrival,
                request,
                tag::SYSTEM_ERROR,
                "too many sessions",
            ));
            return Err(Fault::Full);
        };
        let max_payload = request.max_payload(&service);
        let session = Session::new(service.id, cookie.stamp, max_payload);
        if let Some(silent) = self.sessions.insert(id, session) {
            self.close_with(silent, Reason::Silent, out);
        }
        out.push(confirmation(id, request, max_payload, &self.name));
        out.push(Action::Opened(Box::new(Opened {
            session: id,
            service: service.id,
            circuit_id: fields.circuit_id.map(Box::from),
            remote_id: fields.remote_id.map(Box::from),
            max_payload,
        })));
        Ok(())
    }

    /// Returns the id of a new session of a service; `None` if the service or the port is full.
    fn new_session(&mut self, arrival: Arrival, service: &Service) -> Option<SessionId> {
        let port = self.ports.get_mut(&arrival.port)?;
        if port.is_full(service) {
            return None;
        }
        let number = port.numbers.assign()?;
        *port.counts.entry(service.id).or_default() += 1;
        Some(SessionId {
            port: arrival.port,
            peer: arrival.from,
            number,
        })
    }

    /// Answers a PPP control packet of an unknown session with a PADT.
    fn stray(&mut self, id: SessionId, now: Instant, out: &mut Vec<Action>) {
        if !self.sessions.contains(id) && self.limiter.admit(id.port, id.peer, now) {
            let padt = termination(id.peer, id.number);
            out.push(Action::Send(id.port, padt));
        }
    }

    /// Sends the PADT of a session and forgets the session. Returns false if there is no such session.
    fn close(&mut self, id: SessionId, out: &mut Vec<Action>) -> bool {
        let is_open = self.end(id);
        if is_open {
            out.push(Action::Send(id.port, termination(id.peer, id.number)));
        }
        is_open
    }

    fn close_with(&mut self, id: SessionId, reason: Reason, out: &mut Vec<Action>) {
        if self.close(id, out) {
            out.push(Action::Closed(id, reason));
        }
    }

    /// Forgets a session. Returns false if there is no such session.
    fn end(&mut self, id: SessionId) -> bool {
        let Some(session) = self.sessions.remove(id) else {
            return false;
        };
        if let Some(port) = self.ports.get_mut(&id.port) {
            port.numbers.release(id.number);
            if let Some(count) = port.counts.get_mut(&session.service) {
                *count = count.saturating_sub(1);
            }
        }
        true
    }
}

/// Returns the PADS of a session.
fn confirmation(id: SessionId, request: &Request, max_payload: Option<u16>, name: &str) -> Action {
    let packet = request.answer(code::PADS, id.number);
    let packet = packet.tag(tag::AC_NAME, name.as_bytes());
    let packet = with_max_payload(packet, max_payload);
    Action::Send(id.port, frame(id.peer, packet.finish()))
}

/// Returns a PADS that refuses a request.
fn refusal(arrival: Arrival, request: &Request, kind: u16, text: &str) -> Action {
    let packet = request.answer(code::PADS, 0).tag(kind, text.as_bytes());
    Action::Send(arrival.port, frame(arrival.from, packet.finish()))
}

fn with_max_payload(packet: Builder, max_payload: Option<u16>) -> Builder {
    let bytes = max_payload.map(u16::to_be_bytes);
    packet.optional(tag::MAX_PAYLOAD, bytes.as_ref().map(<[u8; 2]>::as_slice))
}
