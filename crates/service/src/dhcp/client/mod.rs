//! DHCP client of one interface (RFC 2131, 4.4 and figure 5).
//!
//! ```text
//!             ┌────────── refused, in use, expired, released ───────────┐
//!             ▼                                                         │
//! up ─▶ selecting ─ offer ─▶ requesting ─ answer ─▶ probing ─ free ─▶ bound ─▶ renewing ─▶ rebinding
//!  └─▶ rebooting (an address is remembered) ─ answer ───▶ ┘             ▲ answer ─┴───────────┘
//! ```
//! The client accepts an answer that carries its transaction id and hardware address; in states that ask one server,
//! the answer must come from that server. The client probes a new address by ARP before it uses it (RFC 5227, 2.1.1),
//! and declines the address if another host has it. `rebooting` requests the address of the last lease, which the
//! owner may store over a restart.

mod lease;
#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;

use machine::{Duration, Instant, Machine, Rng};
use wire::{Mac, arp, ipv4};

use super::message::{CLIENT_PORT, Message, MessageType, SERVER_PORT, code, packet};
pub use lease::{Lease, Route, Times};

/// Default parameter request list (RouterOS): mask, routers, DNS servers, domain, static routes, NTP servers, vendor
/// options, classless routes, CAPWAP controllers.
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
/// Number of requests for an offered address and for a remembered address before the client starts over.
const REQUESTS: u32 = 4;
const REBOOTS: u32 = 2;
/// Number of ARP probes for a new address, and how long the client waits for an answer to each.
const PROBES: u8 = 2;
const PROBE_WAIT: Duration = Duration::from_millis(250);
/// Pause after the client declined an address (RFC 2131, 3.1, 5).
const AFTER_DECLINE: Duration = Duration::from_secs(10);
/// Pause after a refusal, so that a server that refuses every request is not flooded.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// Minimum time between requests to renew (RFC 2131, 4.4.5).
const RENEW_AGAIN: Duration = Duration::from_secs(60);
/// Maximum request length in bytes: UDP payload of an Ethernet frame.
const LONGEST: usize = 1_472;

/// When the client sets the broadcast flag of its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broadcast {
    /// In all messages.
    Always,
    /// In no message.
    Never,
    /// While the client has no address that a unicast answer could reach.
    #[default]
    Unbound,
}

/// Configuration of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// MAC address of the interface.
    pub mac: Mac,
    /// Additional options, by number. A parameter request list replaces the default one.
    pub options: Vec<(u8, Vec<u8>)>,
    /// When to set the broadcast flag.
    pub broadcast: Broadcast,
    /// DSCP of sent packets, 0 to 63.
    pub dscp: u8,
}

/// Events of a client.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed. Another MAC address restarts the client.
    Configure(Config),
    /// Address of a lease from before a restart; the client requests it when the link comes up.
    Remember(Ipv4Addr),
    /// The link went up.
    Up,
    /// The link went down; the client drops its lease.
    Down,
    /// The client was disabled; it releases its lease.
    Stop,
    /// A DHCP message arrived on the interface.
    Received(&'a Message),
    /// An ARP packet arrived on the interface.
    Arp(&'a arp::Repr),
    /// Renew the lease now (`renew` command).
    Renew,
    /// Release the lease and request another one (`release` command).
    Release,
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Broadcast this IP packet on the link.
    Broadcast(Vec<u8>),
    /// Route this IP packet to its destination, a DHCP server.
    Send(Vec<u8>),
    /// Broadcast this ARP packet on the link.
    Probe([u8; arp::PACKET_LEN]),
    /// The client got or renewed a lease.
    Got(Box<Lease>),
    /// The client lost its lease.
    Lost(Why),
    /// A request failed; the reason is meant for the log.
    Failed(Why),
}

/// Reason why a lease ended or was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The link went down, or the client was disabled.
    Stopped,
    /// The lease expired without renewal.
    Expired,
    /// This server refused the request (DHCPNAK).
    Refused(Ipv4Addr),
    /// The client released the lease.
    Released,
    /// Another host with this MAC address uses the address.
    InUse(Ipv4Addr, Mac),
}

/// Reason why the client ignores a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Wrong transaction id, wrong hardware address, or another server than the requested one.
    Other,
    /// The current state expects no such message.
    Unexpected,
    /// The offered address is not a host address, or mandatory options are missing.
    Unusable,
}

/// Client state as RouterOS shows it (`status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Waits for the link.
    Stopped,
    /// Searches for servers.
    Searching,
    /// Requests an address from one server.
    Requesting,
    /// Has a lease.
    Bound,
    /// Asks its own server to extend the lease.
    Renewing,
    /// Asks all servers to extend the lease, or requests the remembered address.
    Rebinding,
}

/// State of the client, with the exchange in progress.
#[derive(Debug)]
enum State {
    Stopped,
    /// Paused until this time.
    Waiting(Instant),
    Selecting(Exchange),
    /// Requested address and its server.
    Requesting(Exchange, Ipv4Addr, Ipv4Addr),
    Rebooting(Exchange, Ipv4Addr),
    /// Lease under probe, number of probes sent, and end of the wait for an answer to the last probe.
    Probing(Box<Lease>, u8, Instant),
    Bound(Box<Lease>),
    Renewing(Exchange, Box<Lease>),
    Rebinding(Exchange, Box<Lease>),
}

/// A request that the client repeats until it gets an answer.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    xid: u32,
    /// Time of the first request; the `secs` field counts from here.
    began: Instant,
    /// Time of the last request.
    sent: Instant,
    count: u32,
    /// A user waits for the answer: retransmit within seconds.
    is_awaited: bool,
    /// Time of the next retransmission.
    next: Instant,
}

/// DHCP client of one interface.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    /// Address of the last lease.
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
            Event::Arp(packet) => self.receive_arp(packet, now, out),
            Event::Renew => self.renew(now, out),
            Event::Release => self.release(now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        // Catches up when ticks were missed for hours. The bound limits the number of state changes in one tick.
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
    /// Creates a client that waits for the link.
    pub fn new(config: Config, rng: impl Into<Rng>) -> Self {
        Self {
            config,
            state: State::Stopped,
            remembered: None,
            rng: rng.into(),
        }
    }

    /// State of the client.
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

    /// The current lease.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Bound(lease) | State::Renewing(_, lease) | State::Rebinding(_, lease) => {
                Some(lease)
            }
            _ => None,
        }
    }

    /// True while the client probes a new address by ARP.
    pub const fn is_probing(&self) -> bool {
        matches!(self.state, State::Probing(..))
    }

    /// Address that the client requests first when the link comes up (RFC 2131, 3.2): the address of the last lease,
    /// unless the lease was refused, released or expired.
    pub const fn remembered(&self) -> Option<Ipv4Addr> {
        self.remembered
    }

    /// Configuration of the client.
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

    /// Starts the client: requests the remembered address, or searches for servers.
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

    /// Sends DHCPRELEASE to the server (RFC 2131, 4.4.6), which does not answer. Returns true if there was a lease.
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

    /// Handles the expired timer of the current state.
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

    /// Sends the request of the current state and schedules its retransmission.
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
        // RFC 2131, 4.1: 4, 8, 16, 32, 64 seconds, each plus or minus up to one second. RFC 2131, 4.4.5: half of the
        // remaining time when renewing or rebinding.
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
                // RFC 2131, 4.4.1: DHCPDISCOVER may suggest the address of the last lease.
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

    /// Builds a message with the client's hardware address and options.
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
        let mut bytes = packet(from, CLIENT_PORT, to, SERVER_PORT, &message);
        if let Ok(mut header) = ipv4::HeaderMut::new_checked(&mut bytes) {
            header.set_tos(self.config.dscp << 2);
        }
        bytes
    }

    /// Handles a received message.
    ///
    /// # Errors
    /// Returns why the client ignores the message; the state is unchanged.
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

    /// Pauses for `time`, then searches for servers. Forgets the remembered address.
    fn wait(&mut self, time: Duration, now: Instant) {
        self.remembered = None;
        self.state = State::Waiting(now + time);
    }

    /// Sends the next ARP probe, or takes the lease when all probes were sent.
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

    /// Declines the probed address if another host has it or probes it, too (RFC 5227, 2.1.1).
    fn receive_arp(&mut self, heard: &arp::Repr, now: Instant, out: &mut Vec<Action>) {
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
