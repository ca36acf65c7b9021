//! A client of DHCP on one interface, as a machine (RFC 2131, 4.4 and figure 5).
//!
//! ```text
//!             ┌────────── refused, in use, expired, released ───────────┐
//!             ▼                                                         │
//! up ─▶ selecting ─ offer ─▶ requesting ─ answer ─▶ probing ─ free ─▶ bound ─▶ renewing ─▶ rebinding
//!  └─▶ rebooting (an address is remembered) ─ answer ───▶ ┘             ▲ answer ─┴───────────┘
//! ```
//! An answer counts if it names the transaction and the hardware address of the client, and comes from the server that
//! was asked, where one was. The address is probed by ARP before it is used (RFC 5227, 2.1.1), and declined if another
//! host has it. `rebooting` asks for the address of the last time, which the owner may remember over a restart.

mod lease;
#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;

use machine::{Duration, Instant, Machine, Rng};
use wire::{Mac, arp, ipv4};

use super::message::{CLIENT_PORT, Message, MessageType, SERVER_PORT, code, packet};
pub use lease::{Lease, Route, Times};

/// What is asked for (RouterOS): mask, routers, name servers, domain, routes, time servers, vendor's, classless
/// routes, managers of access points.
const PARAMETERS: [u8; 9] = [
    code::SUBNET_MASK,
    code::ROUTER,
    code::DNS,
    code::DOMAIN,
    code::STATIC_ROUTES,
    code::NTP,
    code::VENDOR,
    code::CLASSLESS_ROUTES,
    code::CAPWAP,
];
/// How often a server is asked for what it offered, and for what is remembered, before all begins anew.
const REQUESTS: u32 = 4;
const REBOOTS: u32 = 2;
/// How often an address is probed, and how long each probe waits for its answer.
const PROBES: u8 = 2;
const PROBE_WAIT: Duration = Duration::from_millis(250);
/// How long the client waits after it declined an address (RFC 2131, 3.1, 5).
const AFTER_DECLINE: Duration = Duration::from_secs(10);
/// How long it waits after it was refused, so that a server that refuses everything is not asked all the time.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// The shortest time between requests to renew (RFC 2131, 4.4.5).
const RENEW_AGAIN: Duration = Duration::from_secs(60);
/// The most bytes of a request: every server takes them.
const LONGEST: usize = 1_472;

/// When answers are asked for by broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broadcast {
    /// In each request.
    Always,
    /// In none.
    Never,
    /// As long as there is no address that an answer could be sent to.
    #[default]
    Unbound,
}

/// How a client is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The link address of its interface.
    pub mac: Mac,
    /// The options that it sends besides its own, by number. A list of parameters takes the place of the usual one.
    pub options: Vec<(u8, Vec<u8>)>,
    /// When answers are asked for by broadcast.
    pub broadcast: Broadcast,
    /// The code point of its packets, 0 to 63.
    pub dscp: u8,
}

/// What happens to a client.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is configured; another link address begins anew.
    Configure(Config),
    /// The address of a lease from before a restart: it is asked for when the link comes up.
    Remember(Ipv4Addr),
    /// The link is up.
    Up,
    /// The link is down: the address is of no use.
    Down,
    /// It is switched off: the address is given back.
    Stop,
    /// A message arrived on the interface.
    Received(&'a Message),
    /// A packet of ARP arrived there.
    Arp(&'a arp::Repr),
    /// A user wants the lease renewed.
    Renew,
    /// A user wants the address given back, and another one.
    Release,
}

/// What a client wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this IP packet to everybody on the link.
    Broadcast(Vec<u8>),
    /// Send this IP packet to a server that may be anywhere.
    Send(Vec<u8>),
    /// Send this packet of ARP to everybody on the link.
    Probe([u8; arp::PACKET_LEN]),
    /// The address may be used, or a lease was renewed.
    Got(Box<Lease>),
    /// The address may not be used any more.
    Lost(Why),
    /// Something went wrong that users want to know.
    Failed(Why),
}

/// Why an address is lost, or not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The link is down, or the client is switched off.
    Stopped,
    /// Nobody renewed it.
    Expired,
    /// This server refused it.
    Refused(Ipv4Addr),
    /// It was given back.
    Released,
    /// This host has it.
    InUse(Ipv4Addr, Mac),
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is of another transaction, for another client, or from a server that was not asked.
    Other,
    /// It is nothing that is waited for.
    Unexpected,
    /// It gives nothing that a host can have.
    Unusable,
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It waits for its link.
    Stopped,
    /// It looks for servers.
    Searching,
    /// It asks one for an address.
    Requesting,
    /// It has an address.
    Bound,
    /// It asks its server for a longer time.
    Renewing,
    /// It asks all servers for a longer time, or for the address of the last time.
    Rebinding,
}

/// What a client waits for.
#[derive(Debug)]
enum State {
    Stopped,
    /// The time to begin.
    Waiting(Instant),
    Selecting(Exchange),
    /// The answer of this server about this address.
    Requesting(Exchange, Ipv4Addr, Ipv4Addr),
    Rebooting(Exchange, Ipv4Addr),
    /// Hosts that have the address: probes sent, and until when the last one waits.
    Probing(Box<Lease>, u8, Instant),
    Bound(Box<Lease>),
    Renewing(Exchange, Box<Lease>),
    Rebinding(Exchange, Box<Lease>),
}

/// Requests that are sent until there is an answer.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    xid: u32,
    /// When the first was sent, by which all are told how long the client waits.
    began: Instant,
    /// When the last was.
    sent: Instant,
    count: u32,
    /// Somebody waits for the answer: lost messages are repeated within seconds.
    is_awaited: bool,
    /// When the next is.
    next: Instant,
}

/// See the module.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    /// The address of the last time.
    remembered: Option<Ipv4Addr>,
    rng: Rng,
}

impl Machine for Client {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Status;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config, now, out),
            Event::Remember(address) => self.remembered = Some(address),
            Event::Up if matches!(self.state, State::Stopped) => self.begin(now, out),
            Event::Up => {}
            Event::Down => self.stop(out),
            Event::Stop => {
                self.give_back(out);
                self.stop(out);
            }
            Event::Received(message) => _ = self.receive(message, now, out),
            Event::Arp(packet) => self.hear_arp(packet, now, out),
            Event::Renew => self.renew(now, out),
            Event::Release => self.release(now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        // A client that nobody woke for hours catches up at once: each turn leads on.
        for _ in 0..8 {
            match self.deadline() {
                Some((at, _)) if at <= now => self.go_on(now, out),
                _ => break,
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Status)> {
        let at = match &self.state {
            State::Stopped => None,
            State::Waiting(at) | State::Probing(_, _, at) => Some(*at),
            State::Selecting(exchange)
            | State::Requesting(exchange, ..)
            | State::Rebooting(exchange, _) => Some(exchange.next),
            State::Bound(lease) => lease.times.map(|times| times.renew),
            State::Renewing(exchange, lease) => match lease.times {
                Some(times) => Some(exchange.next.min(times.rebind)),
                None => Some(exchange.next),
            },
            State::Rebinding(exchange, lease) => match lease.times {
                Some(times) => Some(exchange.next.min(times.end)),
                None => Some(exchange.next),
            },
        };
        at.map(|at| (at, self.status()))
    }
}

impl Client {
    /// A client that waits for its link.
    pub fn new(config: Config, rng: impl Into<Rng>) -> Self {
        Self {
            config,
            state: State::Stopped,
            remembered: None,
            rng: rng.into(),
        }
    }

    /// How far it has come.
    pub const fn status(&self) -> Status {
        match &self.state {
            State::Stopped => Status::Stopped,
            State::Waiting(_) | State::Selecting(_) => Status::Searching,
            State::Requesting(..) | State::Probing(..) => Status::Requesting,
            State::Bound(_) => Status::Bound,
            State::Renewing(..) => Status::Renewing,
            State::Rebinding(..) | State::Rebooting(..) => Status::Rebinding,
        }
    }

    /// The lease that holds.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Bound(lease) | State::Renewing(_, lease) | State::Rebinding(_, lease) => {
                Some(lease)
            }
            _ => None,
        }
    }

    /// Whether it waits for hosts that have its address to say so.
    pub const fn is_probing(&self) -> bool {
        matches!(self.state, State::Probing(..))
    }

    /// The address that it asks for first when its link comes up (RFC 2131, 3.2): that of its last lease, unless that
    /// was refused, given back or not renewed.
    pub const fn remembered(&self) -> Option<Ipv4Addr> {
        self.remembered
    }

    /// How it is configured.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    fn configure(&mut self, config: Config, now: Instant, out: &mut Vec<Action>) {
        let is_another = config.mac != self.config.mac;
        self.config = config;
        if is_another && !matches!(self.state, State::Stopped) {
            self.stop(out);
            self.begin(now, out);
        }
    }

    /// Begins: with the address of the last time, or without any.
    fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        match self.remembered {
            Some(address) => {
                self.state = State::Rebooting(self.exchange(now), address);
                self.request_again(now, out);
            }
            None => self.search(now, out),
        }
    }

    fn search(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.state = State::Selecting(self.exchange(now));
        self.request_again(now, out);
    }

    fn stop(&mut self, out: &mut Vec<Action>) {
        if self.lease().is_some() {
            out.push(Action::Lost(Why::Stopped));
        }
        self.state = State::Stopped;
    }

    fn renew(&mut self, now: Instant, out: &mut Vec<Action>) {
        match core::mem::replace(&mut self.state, State::Stopped) {
            State::Bound(lease) | State::Renewing(_, lease) => {
                let exchange = Exchange {
                    is_awaited: true,
                    ..self.exchange(now)
                };
                self.state = State::Renewing(exchange, lease);
                self.request_again(now, out);
            }
            State::Waiting(_) => self.search(now, out),
            other => self.state = other,
        }
    }

    fn release(&mut self, now: Instant, out: &mut Vec<Action>) {
        if matches!(self.state, State::Stopped) {
            return;
        }
        if self.give_back(out) {
            out.push(Action::Lost(Why::Released));
        }
        self.search(now, out);
    }

    /// Tells the server that the address is free (RFC 2131, 4.4.6). Nobody answers.
    fn give_back(&mut self, out: &mut Vec<Action>) -> bool {
        self.remembered = None;
        let Some(lease) = self.lease() else {
            return false;
        };
        let (address, server) = (lease.address, lease.server);
        let xid = self.rng.next_u32();
        let mut message = self.message(MessageType::Release, xid);
        message.ciaddr = address;
        message.options.set(code::SERVER_ID, server.octets());
        out.push(Action::Send(self.packet(address, server, &message)));
        true
    }

    fn exchange(&mut self, now: Instant) -> Exchange {
        Exchange {
            xid: self.rng.next_u32(),
            began: now,
            sent: now,
            count: 0,
            is_awaited: false,
            next: now,
        }
    }

    /// Does what is due.
    fn go_on(&mut self, now: Instant, out: &mut Vec<Action>) {
        match core::mem::replace(&mut self.state, State::Stopped) {
            State::Stopped => {}
            State::Waiting(_) => self.search(now, out),
            State::Requesting(exchange, ..) if exchange.count >= REQUESTS => self.search(now, out),
            State::Rebooting(exchange, _) if exchange.count >= REBOOTS => self.search(now, out),
            State::Probing(lease, count, _) => self.probe(lease, count, now, out),
            State::Bound(lease) => {
                self.state = State::Renewing(self.exchange(now), lease);
                self.request_again(now, out);
            }
            State::Renewing(_, lease) if lease.times.is_some_and(|times| times.rebind <= now) => {
                self.state = State::Rebinding(self.exchange(now), lease);
                self.go_on(now, out);
            }
            State::Rebinding(_, lease) if lease.times.is_some_and(|times| times.end <= now) => {
                out.push(Action::Lost(Why::Expired));
                self.search(now, out);
            }
            other => {
                self.state = other;
                self.request_again(now, out);
            }
        }
    }

    /// Sends the request of the state that the client is in, and says when it is sent again.
    fn request_again(&mut self, now: Instant, out: &mut Vec<Action>) {
        let mut state = core::mem::replace(&mut self.state, State::Stopped);
        let jitter = Duration::from_millis(self.rng.below(2_001));
        let (exchange, limit) = match &mut state {
            State::Selecting(exchange)
            | State::Requesting(exchange, ..)
            | State::Rebooting(exchange, _) => (exchange, None),
            State::Renewing(exchange, lease) => (exchange, lease.times.map(|times| times.rebind)),
            State::Rebinding(exchange, lease) => (exchange, lease.times.map(|times| times.end)),
            State::Stopped | State::Waiting(_) | State::Probing(..) | State::Bound(_) => {
                self.state = state;
                return;
            }
        };
        // RFC 2131, 4.1: 4, 8, 16, 32, 64 seconds, each up to a second more or less; 4.4.5: half of the time left.
        let is_soon = exchange.is_awaited && exchange.count < REQUESTS;
        let wait = match limit.filter(|_| !is_soon) {
            None => {
                Duration::from_secs(4 << exchange.count.min(4)) + jitter - Duration::from_secs(1)
            }
            Some(limit) => (limit.saturating_since(now) / 2).max(RENEW_AGAIN),
        };
        exchange.sent = now;
        exchange.count += 1;
        exchange.next = now + wait;
        let exchange = *exchange;
        self.send(&state, exchange, now, out);
        self.state = state;
    }

    /// Sends the request of a state (RFC 2131, 4.3.2 and table 5).
    fn send(&self, state: &State, exchange: Exchange, now: Instant, out: &mut Vec<Action>) {
        let kind = match state {
            State::Selecting(_) => MessageType::Discover,
            _ => MessageType::Request,
        };
        let mut message = self.message(kind, exchange.xid);
        let waited = now.saturating_since(exchange.began).as_secs();
        message.secs = u16::try_from(waited).unwrap_or(u16::MAX);
        message.broadcast = self.config.broadcast != Broadcast::Never;
        let options = &mut message.options;
        let mut from = Ipv4Addr::UNSPECIFIED;
        let mut server = None;
        match state {
            State::Requesting(_, address, server) => {
                options.set(code::REQUESTED, address.octets());
                options.set(code::SERVER_ID, server.octets());
            }
            State::Rebooting(_, address) => options.set(code::REQUESTED, address.octets()),
            State::Renewing(_, lease) | State::Rebinding(_, lease) => {
                from = lease.address;
                message.ciaddr = lease.address;
                message.broadcast = self.config.broadcast == Broadcast::Always;
                let is_renewing = matches!(state, State::Renewing(..));
                server = is_renewing.then_some(lease.server);
            }
            State::Selecting(_) => {
                // RFC 2131, 4.4.1: a server may give the address of the last time again.
                if let Some(wish) = self.remembered {
                    options.set(code::REQUESTED, wish.octets());
                }
            }
            State::Stopped | State::Waiting(_) | State::Probing(..) | State::Bound(_) => return,
        }
        let to = server.unwrap_or(Ipv4Addr::BROADCAST);
        let packet = self.packet(from, to, &message);
        out.push(match server {
            Some(_) => Action::Send(packet),
            None => Action::Broadcast(packet),
        });
    }

    /// A message of this client, with its options.
    fn message(&self, kind: MessageType, xid: u32) -> Message {
        let mut message = Message {
            xid,
            ..Message::default()
        };
        message.chaddr[..6].copy_from_slice(&self.config.mac.0);
        let asks = matches!(kind, MessageType::Discover | MessageType::Request);
        if asks {
            message.options.set(code::PARAMETERS, PARAMETERS);
        }
        for (code, value) in &self.config.options {
            if asks || *code == code::CLIENT_ID {
                message.options.set(*code, value.clone());
            }
        }
        message.options.set(code::MESSAGE_TYPE, [kind.into()]);
        message
    }

    fn packet(&self, from: Ipv4Addr, to: Ipv4Addr, message: &Message) -> Vec<u8> {
        let message = message.encode(LONGEST);
        let mut bytes = packet((from, CLIENT_PORT), (to, SERVER_PORT), &message);
        if let Ok(mut header) = ipv4::HeaderMut::new_checked(&mut bytes) {
            header.set_tos(self.config.dscp << 2);
        }
        bytes
    }

    /// Takes a message.
    ///
    /// # Errors
    /// Why it is nothing to this client; nothing has changed then.
    pub fn receive(
        &mut self,
        message: &Message,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let (State::Selecting(exchange)
        | State::Requesting(exchange, ..)
        | State::Rebooting(exchange, _)
        | State::Renewing(exchange, _)
        | State::Rebinding(exchange, _)) = &self.state
        else {
            return Err(Fault::Unexpected);
        };
        let exchange = *exchange;
        let is_ours = message.is_reply
            && message.xid == exchange.xid
            && message.mac() == Some(self.config.mac);
        let server = message.options.address(code::SERVER_ID);
        let (true, Some(kind), Some(server)) = (is_ours, message.kind(), server) else {
            return Err(Fault::Other);
        };
        match (&self.state, kind) {
            (State::Selecting(_), MessageType::Offer) => {
                let lease = Lease::read(message, now).ok_or(Fault::Unusable)?;
                let request = Exchange {
                    count: 0,
                    ..exchange
                };
                self.state = State::Requesting(request, lease.address, lease.server);
                self.request_again(now, out);
            }
            (State::Requesting(_, _, asked), MessageType::Ack | MessageType::Nak)
                if *asked != server =>
            {
                return Err(Fault::Other);
            }
            (State::Renewing(_, lease), MessageType::Ack | MessageType::Nak)
                if lease.server != server =>
            {
                return Err(Fault::Other);
            }
            (State::Requesting(..) | State::Rebooting(..), MessageType::Ack) => {
                let lease = Lease::read(message, exchange.sent).ok_or(Fault::Unusable)?;
                self.probe(Box::new(lease), 0, now, out);
            }
            (State::Renewing(_, lease) | State::Rebinding(_, lease), MessageType::Ack) => {
                let renewed = Lease::read(message, exchange.sent).ok_or(Fault::Unusable)?;
                if renewed.address != lease.address {
                    return Err(Fault::Unusable);
                }
                self.bind(Box::new(renewed), out);
            }
            (State::Requesting(..) | State::Rebooting(..), MessageType::Nak) => {
                out.push(Action::Failed(Why::Refused(server)));
                self.wait(AFTER_REFUSAL, now);
            }
            (State::Renewing(..) | State::Rebinding(..), MessageType::Nak) => {
                out.push(Action::Lost(Why::Refused(server)));
                self.wait(AFTER_REFUSAL, now);
            }
            _ => return Err(Fault::Unexpected),
        }
        Ok(())
    }

    /// Begins anew after a time, without what is remembered.
    fn wait(&mut self, time: Duration, now: Instant) {
        self.remembered = None;
        self.state = State::Waiting(now + time);
    }

    /// Looks once more whether a host has the address, or takes it.
    fn probe(&mut self, lease: Box<Lease>, count: u8, now: Instant, out: &mut Vec<Action>) {
        if count >= PROBES {
            return self.bind(lease, out);
        }
        let probe = arp::Repr {
            operation: arp::Operation::REQUEST,
            sender_mac: self.config.mac,
            sender: Ipv4Addr::UNSPECIFIED,
            target_mac: Mac::ZERO,
            target: lease.address,
        };
        out.push(Action::Probe(probe.to_bytes()));
        self.state = State::Probing(lease, count + 1, now + PROBE_WAIT);
    }

    fn bind(&mut self, lease: Box<Lease>, out: &mut Vec<Action>) {
        self.remembered = Some(lease.address);
        out.push(Action::Got(lease.clone()));
        self.state = State::Bound(lease);
    }

    /// Declines the address that it probes if another host has it, or probes it, too (RFC 5227, 2.1.1).
    fn hear_arp(&mut self, heard: &arp::Repr, now: Instant, out: &mut Vec<Action>) {
        let State::Probing(lease, ..) = &self.state else {
            return;
        };
        let (address, server) = (lease.address, lease.server);
        let has_it = heard.sender == address;
        let probes_it = heard.sender.is_unspecified() && heard.target == address;
        if heard.sender_mac == self.config.mac || !(has_it || probes_it) {
            return;
        }
        let xid = self.rng.next_u32();
        let mut message = self.message(MessageType::Decline, xid);
        message.options.set(code::REQUESTED, address.octets());
        message.options.set(code::SERVER_ID, server.octets());
        let nobody = Ipv4Addr::UNSPECIFIED;
        let packet = self.packet(nobody, Ipv4Addr::BROADCAST, &message);
        out.push(Action::Broadcast(packet));
        out.push(Action::Failed(Why::InUse(address, heard.sender_mac)));
        self.wait(AFTER_DECLINE, now);
    }
}
