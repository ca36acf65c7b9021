//! PPPoE client of one interface: finds a server and opens a session (RFC 2516, 5; RFC 4638).
//!
//! ```text
//!           ┌───────── refused, no answer, session ended: after a pause ─────────┐
//!           ▼                                                                    │
//! start ─▶ searching (PADI) ── PADO ──▶ requesting (PADR) ── PADS ──▶ open ── PADT ┘
//! ```
//! The client repeats PADI and PADR at intervals that double, each with the same Host-Uniq, so that it accepts answers
//! which servers delay. It takes the first offer that names the configured server and service. After a server refused
//! a request or left it unanswered, the client prefers other servers: it uses an offer of that server only when the
//! next PADI is due and no other server has answered.

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;
use wire::pppoe::{Builder, Discovery, Packet, Tag, code, tag};

use super::{TAG_MAX, frame, termination, text};
use crate::Frame;

/// First and longest interval between two PADI.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
const SEARCH_INTERVAL_MAX: Duration = Duration::from_secs(5);
/// First interval between two PADR, and number of PADR before the client searches again.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
const REQUESTS: u32 = 3;
/// Shortest and longest pause before the client searches again.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(16);
/// A session that was open for this long resets the pause.
const STABLE: Duration = Duration::from_secs(60);

/// Configuration of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Requested service; empty: any.
    pub service_name: Box<str>,
    /// Name of the server; empty: any.
    pub ac_name: Box<str>,
    /// Host-Uniq; `None`: random.
    pub host_uniq: Option<Box<[u8]>>,
    /// Largest PPP payload in bytes that the interface carries, if above 1,492 (RFC 4638).
    pub max_payload: Option<u16>,
}

/// Events of a client.
#[derive(Debug)]
pub enum Event<'a> {
    /// Search for a server, now and after each session.
    Start,
    /// Close the session, and open no other.
    Stop,
    /// The interface below went down: forget the session without a PADT.
    LowerDown,
    /// The session is of no use, such as after a failed authentication: close it and open another after a pause.
    Close,
    /// A discovery packet arrived.
    Received {
        /// Source address.
        from: Mac,
        /// Packet.
        packet: Packet<'a>,
    },
}

/// Actions that the owner of the client carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame on the interface.
    Send(Frame),
    /// A session is open.
    Opened(Box<Session>),
    /// The session ended; the owner did not request it.
    Closed(Reason),
    /// A request failed; the reason is meant for the log. The client goes on.
    Failed(Reason),
}

/// Reason why a session ended, or was not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The server sent a PADT, with this error text if it is not empty.
    Terminated(Box<str>),
    /// The server has no such service (Service-Name-Error).
    NoService(Box<str>),
    /// The server cannot open a session (AC-System-Error).
    ServerError(Box<str>),
    /// Generic-Error.
    Generic(Box<str>),
    /// The server did not answer a request.
    NoAnswer,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Address of the server.
    pub peer: Mac,
    /// Session number.
    pub number: u16,
    /// Name of the server.
    pub ac_name: Box<str>,
    /// Service that was requested.
    pub service_name: Box<str>,
    /// Largest PPP payload that both ends accept, if above 1,492 (RFC 4638).
    pub max_payload: Option<u16>,
}

/// Reason why the client ignores a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A tag exceeds the packet.
    Malformed,
    /// A code that servers do not send.
    Code,
    /// The Host-Uniq is another client's.
    HostUniq,
    /// The state expects no such packet, or the packet comes from another server.
    Unexpected,
    /// The offer is from another server, or for another service, than configured.
    Name,
}

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not started.
    Stopped,
    /// Pauses before the next search.
    Waiting,
    /// Searches for servers.
    Searching,
    /// Requests a session.
    Requesting,
    /// A session is open.
    Open,
}

/// Offer of a server.
#[derive(Clone, Debug)]
struct Offer {
    server: Mac,
    ac_name: Box<str>,
    service_name: Box<[u8]>,
    cookie: Option<Box<[u8]>>,
    relay_session: Option<Box<[u8]>>,
}

#[derive(Debug)]
enum State {
    Stopped,
    /// Until the given time.
    Waiting(Instant),
    Searching {
        /// Number of PADI sent.
        count: u32,
        /// Time of the next PADI.
        next: Instant,
        /// Offer of the server that failed before.
        last_resort: Option<Box<Offer>>,
    },
    Requesting {
        offer: Box<Offer>,
        /// Number of PADR sent.
        count: u32,
        /// Time of the next PADR.
        next: Instant,
    },
    /// Open since the given time.
    Open(Box<Session>, Instant),
}

/// PPPoE client of one interface.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    host_uniq: Box<[u8]>,
    /// The server whose session or refusal came last.
    failed: Option<Mac>,
    /// Pause before the next search.
    pause: Duration,
    rng: Rng,
}

impl Machine for Client {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Status;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Start if matches!(self.state, State::Stopped) => {
                self.pause = PAUSE;
                self.search(now, out);
            }
            Event::Start => {}
            Event::Stop => {
                self.terminate(out);
                self.state = State::Stopped;
            }
            Event::LowerDown => self.state = State::Stopped,
            Event::Close => {
                self.terminate(out);
                if !matches!(self.state, State::Stopped) {
                    self.wait(now);
                }
            }
            Event::Received { from, packet } => _ = self.receive(from, &packet, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.deadline().is_none_or(|(at, _)| at > now) {
            return;
        }
        match &mut self.state {
            State::Stopped | State::Open(..) => {}
            State::Waiting(_) => self.search(now, out),
            State::Searching { last_resort, .. } => match last_resort.take() {
                Some(offer) => self.request(offer, now, out),
                None => self.send_padi(now, out),
            },
            State::Requesting { count, offer, .. } if *count >= REQUESTS => {
                self.failed = Some(offer.server);
                out.push(Action::Failed(Reason::NoAnswer));
                self.search(now, out);
            }
            State::Requesting { .. } => self.send_padr(now, out),
        }
    }

    fn deadline(&self) -> Option<(Instant, Status)> {
        let at = match &self.state {
            State::Stopped | State::Open(..) => return None,
            State::Waiting(at) => *at,
            State::Searching { next, .. } | State::Requesting { next, .. } => *next,
        };
        Some((at, self.status()))
    }
}

impl Client {
    /// Creates a stopped client.
    pub fn new(config: Config, rng: impl Into<Rng>) -> Self {
        Self {
            config,
            state: State::Stopped,
            host_uniq: Box::default(),
            failed: None,
            pause: PAUSE,
            rng: rng.into(),
        }
    }

    /// State of the client.
    pub const fn status(&self) -> Status {
        match &self.state {
            State::Stopped => Status::Stopped,
            State::Waiting(_) => Status::Waiting,
            State::Searching { .. } => Status::Searching,
            State::Requesting { .. } => Status::Requesting,
            State::Open(..) => Status::Open,
        }
    }

    /// The open session.
    pub fn session(&self) -> Option<&Session> {
        match &self.state {
            State::Open(session, _) => Some(session),
            _ => None,
        }
    }

    /// Configuration of the client.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    fn search(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.host_uniq = match &self.config.host_uniq {
            Some(configured) => configured.clone(),
            None => self.rng.next_u64().to_be_bytes().into(),
        };
        self.state = State::Searching {
            count: 0,
            next: now,
            last_resort: None,
        };
        self.send_padi(now, out);
    }

    /// Pauses before the next search. The pause doubles until a session lasts.
    fn wait(&mut self, now: Instant) {
        if let State::Open(session, since) = &self.state {
            self.failed = Some(session.peer);
            if now.saturating_since(*since) >= STABLE {
                self.pause = PAUSE;
                self.failed = None;
            }
        }
        self.state = State::Waiting(now + jittered(self.pause, &mut self.rng));
        self.pause = PAUSE_MAX.min(self.pause * 2);
    }

    /// Sends a PADT if a session is open.
    fn terminate(&self, out: &mut Vec<Action>) {
        if let State::Open(session, _) = &self.state {
            out.push(Action::Send(termination(session.peer, session.number)));
        }
    }

    fn send_padi(&mut self, now: Instant, out: &mut Vec<Action>) {
        let packet = self.with_max_payload(
            Builder::new(code::PADI, 0)
                .tag(tag::SERVICE_NAME, self.config.service_name.as_bytes())
                .tag(tag::HOST_UNIQ, &self.host_uniq),
        );
        if let State::Searching { count, next, .. } = &mut self.state {
            let interval = doubled(SEARCH_INTERVAL, *count).min(SEARCH_INTERVAL_MAX);
            *next = now + jittered(interval, &mut self.rng);
            *count += 1;
            out.push(Action::Send(frame(Mac::BROADCAST, packet.finish())));
        }
    }

    fn request(&mut self, offer: Box<Offer>, now: Instant, out: &mut Vec<Action>) {
        self.state = State::Requesting {
            offer,
            count: 0,
            next: now,
        };
        self.send_padr(now, out);
    }

    fn send_padr(&mut self, now: Instant, out: &mut Vec<Action>) {
        let State::Requesting { offer, .. } = &self.state else {
            return;
        };
        let packet = Builder::new(code::PADR, 0)
            .tag(tag::SERVICE_NAME, &offer.service_name)
            .tag(tag::HOST_UNIQ, &self.host_uniq)
            .optional(tag::AC_COOKIE, offer.cookie.as_deref())
            .optional(tag::RELAY_SESSION, offer.relay_session.as_deref());
        let packet = self.with_max_payload(packet).finish();
        if let State::Requesting { offer, count, next } = &mut self.state {
            *next = now + jittered(doubled(REQUEST_INTERVAL, *count), &mut self.rng);
            *count += 1;
            out.push(Action::Send(frame(offer.server, packet)));
        }
    }

    fn with_max_payload(&self, packet: Builder) -> Builder {
        let max = self.config.max_payload.map(u16::to_be_bytes);
        packet.optional(tag::MAX_PAYLOAD, max.as_ref().map(<[u8; 2]>::as_slice))
    }

    /// Handles a discovery packet.
    ///
    /// # Errors
    /// Returns the reason why the packet was ignored.
    pub fn receive(
        &mut self,
        from: Mac,
        packet: &Packet<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let fields = Discovery::parse(packet).map_err(|_| Fault::Malformed)?;
        let is_answer = matches!(packet.code, code::PADO | code::PADS);
        if is_answer && fields.host_uniq != Some(&self.host_uniq) {
            return Err(Fault::HostUniq);
        }
        match packet.code {
            code::PADO => self.receive_offer(from, &fields, now, out),
            code::PADS => self.receive_confirmation(from, packet.session, &fields, now, out),
            code::PADT => self.receive_termination(from, packet.session, &fields, now, out),
            _ => Err(Fault::Code),
        }
    }

    fn receive_offer(
        &mut self,
        from: Mac,
        fields: &Discovery<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let State::Searching { last_resort, .. } = &mut self.state else {
            return Err(Fault::Unexpected);
        };
        if let Some(error) = fields.error {
            out.push(Action::Failed(refusal(error)));
            return Ok(());
        }
        let name = |wanted: &str, named: Option<&[u8]>| {
            wanted.is_empty() || named == Some(wanted.as_bytes())
        };
        let is_usable = !from.is_multicast()
            && name(&self.config.ac_name, fields.ac_name)
            && name(&self.config.service_name, fields.service_name);
        let cookie = fields.cookie.map(Box::from);
        let relay_session = fields.relay_session.map(Box::from);
        let tags = [&cookie, &relay_session];
        let is_short =
            |tag: &Option<Box<[u8]>>| tag.as_ref().is_none_or(|tag| tag.len() <= TAG_MAX);
        if !is_usable || !tags.into_iter().all(is_short) {
            return Err(Fault::Name);
        }
        let offer = Box::new(Offer {
            server: from,
            ac_name: text(fields.ac_name.unwrap_or_default()),
            service_name: self.config.service_name.as_bytes().into(),
            cookie,
            relay_session,
        });
        match self.failed == Some(from) {
            true => *last_resort = Some(offer),
            false => self.request(offer, now, out),
        }
        Ok(())
    }

    fn receive_confirmation(
        &mut self,
        from: Mac,
        number: u16,
        fields: &Discovery<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let offer = match &mut self.state {
            State::Requesting { offer, .. } if offer.server == from => offer,
            _ => return Err(Fault::Unexpected),
        };
        if let Some(error) = fields.error {
            self.failed = Some(from);
            out.push(Action::Failed(refusal(error)));
            self.wait(now);
            return Ok(());
        }
        // RFC 2516, 4 reserves 65,535.
        if number == 0 || number == u16::MAX {
            return Err(Fault::Unexpected);
        }
        let own = self.config.max_payload;
        let session = Box::new(Session {
            peer: from,
            number,
            ac_name: core::mem::take(&mut offer.ac_name),
            service_name: text(&offer.service_name),
            max_payload: own.and_then(|own| Some(own.min(fields.max_payload?))),
        });
        out.push(Action::Opened(session.clone()));
        self.state = State::Open(session, now);
        Ok(())
    }

    fn receive_termination(
        &mut self,
        from: Mac,
        number: u16,
        fields: &Discovery<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        match &self.state {
            State::Open(session, _) if session.peer == from && session.number == number => {
                let error = fields.error.map(|error| text(error.value));
                out.push(Action::Closed(Reason::Terminated(
                    error.unwrap_or_default(),
                )));
                self.wait(now);
                Ok(())
            }
            _ => Err(Fault::Unexpected),
        }
    }
}

fn refusal(error: Tag<'_>) -> Reason {
    let text = text(error.value);
    match error.kind {
        tag::SERVICE_NAME_ERROR => Reason::NoService(text),
        tag::SYSTEM_ERROR => Reason::ServerError(text),
        _ => Reason::Generic(text),
    }
}

/// Returns an interval that doubles with each packet sent.
fn doubled(first: Duration, count: u32) -> Duration {
    first.saturating_mul(1 << count.min(8))
}

/// Returns an interval lengthened by up to an eighth, so that clients that lost their server together do not repeat
/// their packets together.
fn jittered(interval: Duration, rng: &mut Rng) -> Duration {
    let spread = interval.as_millis() as u64 / 8;
    interval + Duration::from_millis(rng.below(spread + 1))
}
