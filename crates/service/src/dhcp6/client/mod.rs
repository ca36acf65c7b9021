//! DHCPv6 client of one interface (RFC 8415, 18.2): addresses, prefixes, or information only.
//!
//! ```text
//! up ─▶ soliciting ─ advertise ─▶ requesting ─ reply ─▶ bound ─▶ renewing ─▶ rebinding
//!            └─ reply to rapid commit ───────────────▶ ┘  ▲ reply ─┴───────────┤
//!                                  link: down ─▶ suspended ─ up ─▶ resuming ──┘
//! up ─▶ informing ─ reply ─▶ informed ─▶ informing …
//! ```
//! The client keeps its binding while the link is down, as long as it is valid, so that hosts behind this router keep
//! their addresses. When the link returns, the client asks any server to confirm the binding (RFC 8415, 18.2.12).
//! After a restart the client treats a stored binding as if the link had been down.

mod binding;
mod receive;
#[cfg(test)]
mod tests;

use core::net::Ipv6Addr;

use machine::{Duration, Instant, Machine, Rng};

use super::message::{Association, Kind, Leased, Message, Options, Status, code};
pub use binding::{Binding, Delegation};

/// Retransmission parameters IRT, MRT and MRC of a message type (RFC 8415, 7.6).
#[derive(Clone, Copy, Debug)]
struct Pace {
    first: Duration,
    longest: Duration,
    most: u32,
}

impl Pace {
    const fn new(first_s: u64, longest_s: u64, most: u32) -> Self {
        Self {
            first: Duration::from_secs(first_s),
            longest: Duration::from_secs(longest_s),
            most,
        }
    }
}

const SOLICIT: Pace = Pace::new(1, 3600, u32::MAX);
const REQUEST: Pace = Pace::new(1, 30, 10);
const RENEW: Pace = Pace::new(10, 600, u32::MAX);
/// Few retries: servers may stay silent about bindings that they do not know, and then the client must start over.
const RESUME: Pace = Pace::new(1, 4, 4);
const INFORMATION: Pace = Pace::new(1, 3600, u32::MAX);
/// Option request list: DNS servers, domains, NTP servers, information refresh time and SOL_MAX_RT.
const WISHES: [u16; 6] = [
    code::DNS,
    code::DOMAINS,
    code::SNTP,
    code::NTP,
    code::REFRESH,
    code::SOL_MAX_RT,
];

/// Configuration of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// DUID of this router.
    pub duid: Vec<u8>,
    /// IAID for addresses, if the client requests an address.
    pub addresses: Option<u32>,
    /// IAID for prefixes, if the client requests a prefix.
    pub prefixes: Option<u32>,
    /// Preferred prefix; with an unspecified address only the length is requested.
    pub hint: Option<(Ipv6Addr, u8)>,
    /// A prefix without an address suffices if both are requested.
    pub prefix_will_do: bool,
    /// Use rapid commit (two-message exchange).
    pub rapid_commit: bool,
    /// Additional options.
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Config {
    const fn is_information_alone(&self) -> bool {
        self.addresses.is_none() && self.prefixes.is_none()
    }
}

/// Events of a client.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed. A changed DUID, IAID or prefix hint releases the binding.
    Configure(Config),
    /// Restores addresses and prefixes from before a restart, which belong to the configured DUID and IAIDs. Ignored
    /// unless the link is down.
    Recall(Vec<Delegation>),
    /// The link is up and the interface has a link-local address.
    Up,
    /// The link went down.
    Down,
    /// The client was disabled; it releases its binding.
    Stop,
    /// A message arrived from this source address.
    Received(&'a Message, Ipv6Addr),
    /// Renew the binding now (`renew` command).
    Renew,
    /// Release the binding and request another one (`release` command).
    Release,
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this message to all DHCPv6 servers of the link.
    Send(Vec<u8>),
    /// The binding was assigned or changed.
    Got(Box<Binding>),
    /// The binding ended.
    Lost(Why),
    /// A server refused the request.
    Refused(Status),
}

/// Reason why a binding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The client was disabled.
    Stopped,
    /// The binding expired without renewal.
    Expired,
    /// The client released the binding.
    Released,
    /// The server withdrew the binding, or no server confirmed it.
    TakenBack,
}

/// Reason why the client ignores a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Wrong transaction id, client or server.
    Other,
    /// The current state expects no such message.
    Unexpected,
    /// The message contains nothing that the client requested.
    Unusable,
}

/// Client state as RouterOS shows it (`status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status6 {
    /// Waits for the link.
    Stopped,
    /// Searches for servers.
    Searching,
    /// Requests a binding from one server.
    Requesting,
    /// Has a binding.
    Bound,
    /// Asks its server to extend the binding.
    Renewing,
    /// Asks all servers to extend the binding.
    Rebinding,
}

#[derive(Debug)]
enum State {
    Stopped,
    /// Paused until this time.
    Waiting(Instant),
    /// Holds the best offer so far.
    Soliciting(Exchange, Option<Offer>),
    Requesting(Exchange, Offer),
    Bound(Box<Binding>),
    Renewing(Exchange, Box<Binding>),
    Rebinding(Exchange, Box<Binding>),
    /// The link is down.
    Suspended(Box<Binding>),
    /// The link returned; the client asks all servers to confirm the binding.
    Resuming(Exchange, Box<Binding>),
    Informing(Exchange),
    /// Received information, and the time of its refresh.
    Informed(Box<Binding>, Instant),
}

/// A server's offer.
#[derive(Clone, Debug)]
struct Offer {
    server: Vec<u8>,
    preference: u8,
    associations: Vec<Association>,
}

/// A request that the client repeats until it gets an answer.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    xid: u32,
    began: Instant,
    count: u32,
    wait: Duration,
    next: Instant,
}

/// DHCPv6 client of one interface.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    /// Prefixes that no server confirmed; the client requests them again (RFC 8415, 18.2.1).
    wanted: Vec<Delegation>,
    rng: Rng,
}

impl Machine for Client {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Status6;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config, now, out),
            Event::Recall(got) if matches!(self.state, State::Stopped) => {
                self.state = State::Suspended(Box::new(Binding::recalled(got)));
            }
            Event::Recall(_) => {}
            Event::Up => self.up(now, out),
            Event::Down => self.down(),
            Event::Stop => self.give_back(Why::Stopped, out),
            Event::Received(message, from) => _ = self.receive(message, from, now, out),
            Event::Renew => self.renew(now, out),
            Event::Release if matches!(self.state, State::Stopped) => {}
            Event::Release => {
                self.give_back(Why::Released, out);
                self.begin(now, out);
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        for _ in 0..8 {
            match self.deadline() {
                Some((at, _)) if at <= now => self.go_on(now, out),
                _ => break,
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Status6)> {
        let at = match &self.state {
            State::Stopped => None,
            State::Waiting(at) | State::Informed(_, at) => Some(*at),
            State::Soliciting(exchange, _)
            | State::Requesting(exchange, _)
            | State::Resuming(exchange, _)
            | State::Informing(exchange) => Some(exchange.next),
            State::Bound(binding) => binding.renew,
            State::Renewing(exchange, binding) => {
                binding.rebind.into_iter().chain([exchange.next]).min()
            }
            State::Rebinding(exchange, binding) => {
                binding.end().into_iter().chain([exchange.next]).min()
            }
            State::Suspended(binding) => binding.end(),
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
            wanted: Vec::new(),
            rng: rng.into(),
        }
    }

    /// State of the client.
    pub const fn status(&self) -> Status6 {
        match &self.state {
            State::Stopped | State::Suspended(_) => Status6::Stopped,
            State::Waiting(_) | State::Soliciting(..) | State::Informing(_) => Status6::Searching,
            State::Requesting(..) => Status6::Requesting,
            State::Bound(_) | State::Informed(..) => Status6::Bound,
            State::Renewing(..) => Status6::Renewing,
            State::Rebinding(..) | State::Resuming(..) => Status6::Rebinding,
        }
    }

    /// The current binding.
    pub fn binding(&self) -> Option<&Binding> {
        match &self.state {
            State::Bound(binding)
            | State::Renewing(_, binding)
            | State::Rebinding(_, binding)
            | State::Resuming(_, binding)
            | State::Suspended(binding)
            | State::Informed(binding, _) => Some(binding),
            _ => None,
        }
    }

    /// Configuration of the client.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    fn configure(&mut self, config: Config, now: Instant, out: &mut Vec<Action>) {
        let of = |config: &Config| {
            let numbers = (config.addresses, config.prefixes);
            (config.duid.clone(), numbers, config.hint)
        };
        let is_another = of(&config) != of(&self.config);
        if !is_another {
            self.config = config;
            return;
        }
        let runs = !matches!(self.state, State::Stopped | State::Suspended(_));
        self.give_back(Why::Released, out);
        self.config = config;
        if runs {
            self.begin(now, out);
        }
    }

    fn up(&mut self, now: Instant, out: &mut Vec<Action>) {
        match core::mem::replace(&mut self.state, State::Stopped) {
            State::Stopped => self.begin(now, out),
            State::Suspended(binding) => {
                self.state = State::Resuming(self.exchange(RESUME, now), binding);
                self.request_again(now, out);
            }
            other => self.state = other,
        }
    }

    fn down(&mut self) {
        self.state = match core::mem::replace(&mut self.state, State::Stopped) {
            State::Bound(binding)
            | State::Renewing(_, binding)
            | State::Rebinding(_, binding)
            | State::Resuming(_, binding)
            | State::Suspended(binding) => State::Suspended(binding),
            _ => State::Stopped,
        };
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.state = match self.config.is_information_alone() {
            true => State::Informing(self.exchange(INFORMATION, now)),
            false => State::Soliciting(self.exchange(SOLICIT, now), None),
        };
        self.request_again(now, out);
    }

    fn renew(&mut self, now: Instant, out: &mut Vec<Action>) {
        match core::mem::replace(&mut self.state, State::Stopped) {
            State::Bound(binding) | State::Renewing(_, binding) => {
                self.state = State::Renewing(self.exchange(RENEW, now), binding);
                self.request_again(now, out);
            }
            State::Waiting(_) | State::Informed(..) => self.begin(now, out),
            other => self.state = other,
        }
    }

    /// Sends one Release to the server (RFC 8415, 18.2.7) without waiting for the reply.
    fn give_back(&mut self, why: Why, out: &mut Vec<Action>) {
        let before = core::mem::replace(&mut self.state, State::Stopped);
        let binding = match before {
            State::Bound(binding)
            | State::Renewing(_, binding)
            | State::Rebinding(_, binding)
            | State::Resuming(_, binding) => {
                let xid = self.rng.next_u32();
                let mut message = self.message(Kind::Release, xid);
                message.options.add(code::SERVER_ID, binding.server.clone());
                message.options.add(code::ELAPSED, [0, 0]);
                self.add_associations(&binding.got, &mut message.options);
                out.push(Action::Send(message.encode()));
                Some(binding)
            }
            State::Suspended(binding) | State::Informed(binding, _) => Some(binding),
            _ => None,
        };
        if binding.is_some() {
            out.push(Action::Lost(why));
        }
    }

    fn exchange(&mut self, pace: Pace, now: Instant) -> Exchange {
        Exchange {
            xid: self.rng.next_u32() & 0xff_ffff,
            began: now,
            count: 0,
            wait: pace.first,
            next: now,
        }
    }

    fn go_on(&mut self, now: Instant, out: &mut Vec<Action>) {
        match core::mem::replace(&mut self.state, State::Stopped) {
            State::Stopped => {}
            State::Waiting(_) | State::Informed(..) => self.begin(now, out),
            // RFC 8415, 18.2.1: takes the best offer after the first retransmission timeout.
            State::Soliciting(exchange, Some(offer)) => self.ask(exchange, offer, now, out),
            State::Requesting(exchange, _) if exchange.count >= REQUEST.most => {
                self.begin(now, out);
            }
            State::Bound(binding) => {
                self.state = State::Renewing(self.exchange(RENEW, now), binding);
                self.request_again(now, out);
            }
            State::Renewing(_, binding) if binding.rebind.is_some_and(|at| at <= now) => {
                self.state = State::Rebinding(self.exchange(RENEW, now), binding);
                self.request_again(now, out);
            }
            State::Rebinding(_, binding) if binding.end().is_some_and(|at| at <= now) => {
                out.push(Action::Lost(Why::Expired));
                self.begin(now, out);
            }
            State::Suspended(_) => out.push(Action::Lost(Why::Expired)),
            State::Resuming(exchange, binding) if exchange.count >= RESUME.most => {
                self.wanted = binding.prefixes().copied().collect();
                out.push(Action::Lost(Why::TakenBack));
                self.begin(now, out);
            }
            other => {
                self.state = other;
                self.request_again(now, out);
            }
        }
    }

    /// Requests the offered addresses and prefixes from a server.
    fn ask(&mut self, before: Exchange, offer: Offer, now: Instant, out: &mut Vec<Action>) {
        let mut exchange = self.exchange(REQUEST, now);
        exchange.began = before.began;
        self.state = State::Requesting(exchange, offer);
        self.request_again(now, out);
    }

    /// Sends the request of the current state and schedules its retransmission.
    fn request_again(&mut self, now: Instant, out: &mut Vec<Action>) {
        let percent = self.rng.below(20_001);
        let (exchange, pace) = match &mut self.state {
            State::Soliciting(exchange, _) => (exchange, SOLICIT),
            State::Requesting(exchange, _) => (exchange, REQUEST),
            State::Informing(exchange) => (exchange, INFORMATION),
            State::Renewing(exchange, _) | State::Rebinding(exchange, _) => (exchange, RENEW),
            State::Resuming(exchange, _) => (exchange, RESUME),
            _ => return,
        };
        // RFC 8415, 15: the timeout doubles, with a random factor of ±10 %; the first Solicit adds a positive factor.
        let wait = match exchange.count {
            0 => pace.first,
            _ => exchange.wait * 2,
        };
        let wait =
            wait.min(pace.longest) * 9 / 10 + wait.min(pace.longest) * (percent as u32) / 100_000;
        let first = exchange.count == 0;
        exchange.wait = if first { wait.max(pace.first) } else { wait };
        exchange.count += 1;
        exchange.next = now + exchange.wait;
        let exchange = *exchange;
        out.push(Action::Send(self.request(exchange, now).encode()));
    }

    /// Builds the request of the current state.
    fn request(&self, exchange: Exchange, now: Instant) -> Message {
        let kind = match &self.state {
            State::Soliciting(..) => Kind::Solicit,
            State::Requesting(..) => Kind::Request,
            State::Renewing(..) => Kind::Renew,
            State::Rebinding(..) | State::Resuming(..) => Kind::Rebind,
            _ => Kind::Information,
        };
        let mut message = self.message(kind, exchange.xid);
        let options = &mut message.options;
        let elapsed = now.saturating_since(exchange.began).as_millis() / 10;
        let elapsed = u16::try_from(elapsed).unwrap_or(u16::MAX);
        options.add(code::ELAPSED, elapsed.to_be_bytes());
        let wishes: Vec<u8> = WISHES.iter().flat_map(|code| code.to_be_bytes()).collect();
        options.add(code::REQUEST, wishes);
        match &self.state {
            State::Soliciting(..) => {
                if self.config.rapid_commit {
                    options.add(code::RAPID_COMMIT, []);
                }
                self.add_associations(&self.hinted(), options);
            }
            State::Requesting(_, offer) => {
                options.add(code::SERVER_ID, offer.server.clone());
                for association in &offer.associations {
                    options.add_association(association);
                }
            }
            State::Renewing(_, binding) => {
                options.add(code::SERVER_ID, binding.server.clone());
                self.add_associations(&binding.got, options);
            }
            State::Rebinding(_, binding) | State::Resuming(_, binding) => {
                self.add_associations(&binding.got, options);
            }
            _ => {}
        }
        for (code, value) in &self.config.options {
            options.add(*code, value.clone());
        }
        message
    }

    fn message(&self, kind: Kind, xid: u32) -> Message {
        let mut message = Message::new(kind, xid);
        message
            .options
            .add(code::CLIENT_ID, self.config.duid.clone());
        message
    }

    /// Prefixes for the hint: the configured one, else the last delegated ones.
    fn hinted(&self) -> Vec<Delegation> {
        let hint = self.config.hint.filter(|(_, len)| *len > 0);
        if hint.is_none() {
            return self.wanted.clone();
        }
        let hinted = hint.map(|(address, len)| Delegation {
            is_prefix: true,
            address,
            len,
            preferred: None,
            valid: None,
        });
        hinted.into_iter().collect()
    }

    /// Adds the identity associations to request or release. Lifetimes are 0, because the server decides them.
    fn add_associations(&self, got: &[Delegation], options: &mut Options) {
        let numbers = [(false, self.config.addresses), (true, self.config.prefixes)];
        for (is_prefixes, number) in numbers {
            let Some(id) = number else { continue };
            let own = got.iter().filter(|got| got.is_prefix == is_prefixes);
            let leased = own.map(|got| Leased {
                address: got.address,
                len: got.len,
                preferred: 0,
                valid: 0,
            });
            options.add_association(&Association {
                is_prefixes,
                id,
                t1: 0,
                t2: 0,
                leased: leased.collect(),
                status: Status::Success,
            });
        }
    }
}
