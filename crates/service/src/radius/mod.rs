//! RADIUS client (RFC 2865, 2866, 3579, 5080): one request to a list of servers, and its answer.
//!
//! ```text
//!            ┌── no answer in time, up to TRIES ──┐
//! new ─▶ asked (server n) ───────────────────────┘── no more tries ─▶ asked (server n+1) … nobody
//!            └── an authenticated answer ─▶ done
//! ```
//! Each request has its own socket, so that an attacker must guess a 16-bit port, an 8-bit id and a 128-bit
//! authenticator. Retransmissions repeat the packet byte for byte (RFC 5080, 2.2.1), so that the server detects
//! duplicates. Answers without valid authentication are counted and ignored; the genuine answer may still come.

mod secret;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};

use machine::{Duration, Instant, Machine, Rng};
use wire::radius::{Builder, Packet, code, kind, vendor};

pub use secret::{PASSWORD, is_servers};

/// Number of requests per server.
const TRIES: u32 = 3;
/// Maximum number of servers.
pub const SERVERS: usize = 8;

/// Server of `/radius`.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Item id.
    pub id: u64,
    /// Address.
    pub address: IpAddr,
    /// Authentication port.
    pub authentication: u16,
    /// Accounting port.
    pub accounting: u16,
    /// Shared secret.
    pub secret: Vec<u8>,
    /// Timeout of an answer.
    pub timeout: Duration,
    /// Source address of requests.
    pub source: Option<IpAddr>,
    /// Realm to append to user names without `@`.
    pub realm: String,
    /// Require a Message-Authenticator in answers to access requests.
    pub needs_message_authenticator: bool,
}

impl core::fmt::Debug for Server {
    /// Omits the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Server({} {})", self.id, self.address)
    }
}

/// Accounting status (RFC 2866, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Start.
    Start = 1,
    /// Stop.
    Stop = 2,
    /// Interim-Update.
    Interim = 3,
}

/// Kind of request.
#[derive(Clone, PartialEq, Eq)]
pub enum Question {
    /// Authentication by password.
    Access {
        /// Password.
        password: Vec<u8>,
    },
    /// Authentication by EAP.
    Eap {
        /// EAP message.
        message: Vec<u8>,
        /// State attribute of the answered challenge; empty in the first request.
        state: Vec<u8>,
    },
    /// Accounting.
    Accounting {
        /// Status.
        status: Status,
        /// Session time in seconds.
        seconds: u32,
        /// Traffic of the user through this router; `None` for a login to the router itself.
        through: Option<Through>,
    },
}

/// Traffic of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Through {
    /// Address assigned to the user.
    pub address: Option<IpAddr>,
    /// Packets and bytes from the user.
    pub input: (u64, u64),
    /// Packets and bytes to the user.
    pub output: (u64, u64),
}

/// Request with the attributes of its session.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Kind of request.
    pub question: Question,
    /// User name.
    pub user: String,
    /// Calling-Station-Id: address of the user.
    pub calling: String,
    /// Called-Station-Id; empty if not applicable.
    pub called: String,
    /// NAS-Identifier: name of this router.
    pub router: String,
    /// NAS-Port-Id: the service, such as `ssh`.
    pub port: &'static str,
    /// Acct-Session-Id; empty before there is a session.
    pub session: String,
    /// Class attributes of the access accept, to repeat in accounting.
    pub classes: Vec<Vec<u8>>,
}

/// Attributes of an access accept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// Mikrotik-Group.
    pub group: Option<String>,
    /// Session-Timeout in seconds.
    pub session_timeout: Option<u32>,
    /// Idle-Timeout in seconds.
    pub idle_timeout: Option<u32>,
    /// Acct-Interim-Interval in seconds.
    pub interim: Option<u32>,
    /// Class attributes, to repeat in accounting.
    pub classes: Vec<Vec<u8>>,
    /// EAP message; empty without EAP.
    pub eap: Vec<u8>,
    /// Key of the EAP method: MS-MPPE-Recv-Key followed by MS-MPPE-Send-Key.
    pub key: Option<Key>,
}

/// Key; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub Vec<u8>);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Access accept.
    Accept(Accept),
    /// Access challenge with an EAP message; the next request must repeat its state.
    Challenge {
        /// EAP message.
        eap: Vec<u8>,
        /// State attribute.
        state: Vec<u8>,
    },
    /// Access reject, or a challenge to a password request, which cannot be answered.
    Reject {
        /// EAP message; empty without EAP.
        eap: Vec<u8>,
    },
    /// Accounting response.
    Noted,
    /// No server answered.
    Nobody,
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// First transmission of a request.
    Request,
    /// Retransmission.
    Resend,
    /// Access accept or accounting response.
    Accept,
    /// Access reject.
    Reject,
    /// Access challenge.
    Challenge,
    /// Request without an answer after all retransmissions.
    Timeout,
    /// Malformed, unauthenticated or unexpected answer.
    Bad,
}

/// Events of a request.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Start.
    Begin,
    /// A datagram arrived on the request's socket.
    Received {
        /// Source.
        from: SocketAddr,
        /// Payload.
        bytes: &'a [u8],
    },
}

/// Actions that the owner of the request carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a datagram.
    Send {
        /// Destination.
        to: SocketAddr,
        /// Source address, if configured.
        source: Option<IpAddr>,
        /// Payload.
        bytes: Vec<u8>,
    },
    /// Increase a counter of the server with this id.
    Count(u64, Count),
    /// A server answered after this time.
    Answered(u64, Duration),
    /// The request is finished.
    Done(Outcome),
}

/// One request, sent to servers in order.
pub struct Exchange {
    servers: Vec<Server>,
    request: Request,
    rng: Rng,
    /// Index of the current server, and number of transmissions to it.
    at: usize,
    tries: u32,
    asked: Option<SentRequest>,
    is_over: bool,
}

/// The last transmitted packet.
struct SentRequest {
    bytes: Vec<u8>,
    authenticator: [u8; 16],
    since: Instant,
    until: Instant,
}

impl core::fmt::Debug for Exchange {
    /// Omits secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exchange")
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

impl Exchange {
    /// Creates a request to these servers, in order. `rng` supplies ids and authenticators and must be unpredictable
    /// (RFC 2865, 3).
    pub fn new(mut servers: Vec<Server>, request: Request, rng: Rng) -> Self {
        servers.truncate(SERVERS);
        Self {
            servers,
            request,
            rng,
            at: 0,
            tries: 0,
            asked: None,
            is_over: false,
        }
    }

    const fn is_accounting(&self) -> bool {
        matches!(self.request.question, Question::Accounting { .. })
    }

    /// Parses a datagram if it is an authenticated answer of the current server.
    fn answer<'b>(&self, from: SocketAddr, bytes: &'b [u8]) -> Option<Packet<'b>> {
        let (server, asked) = (self.servers.get(self.at)?, self.asked.as_ref()?);
        let packet = Packet::new_checked(bytes).ok()?;
        let is_its = from.ip().to_canonical() == server.address
            && Some(packet.id()) == asked.bytes.get(1).copied();
        // EAP always requires it (RFC 3579, 3.2).
        let needs = match self.request.question {
            Question::Access { .. } => server.needs_message_authenticator,
            Question::Eap { .. } => true,
            Question::Accounting { .. } => false,
        };
        let proved =
            is_its && secret::is_proved(&packet, &asked.authenticator, &server.secret, needs);
        proved.then_some(packet)
    }

    /// Sends the first request to the current server; skips servers to which it cannot be sent.
    fn ask(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some(server) = self.servers.get(self.at) {
            let mut random = [0; 16];
            self.rng.fill(&mut random);
            let id = self.rng.next_u32() as u8;
            if let Some(bytes) = packet(&self.request, server, id, random) {
                let authenticator =
                    Packet::new_checked(&bytes).map_or(random, |of| of.authenticator());
                self.tries = 0;
                self.asked = Some(SentRequest {
                    bytes,
                    authenticator,
                    since: now,
                    until: now,
                });
                out.push(Action::Count(server.id, Count::Request));
                return self.send(now, out);
            }
            self.at += 1;
        }
        self.finish(Outcome::Nobody, out);
    }

    fn send(&mut self, now: Instant, out: &mut Vec<Action>) {
        let is_accounting = self.is_accounting();
        let (Some(server), Some(asked)) = (self.servers.get(self.at), &mut self.asked) else {
            return;
        };
        self.tries += 1;
        asked.until = now + server.timeout;
        let port = match is_accounting {
            true => server.accounting,
            false => server.authentication,
        };
        out.push(Action::Send {
            to: SocketAddr::new(server.address, port),
            source: server.source,
            bytes: asked.bytes.clone(),
        });
    }

    fn finish(&mut self, outcome: Outcome, out: &mut Vec<Action>) {
        if !core::mem::replace(&mut self.is_over, true) {
            out.push(Action::Done(outcome));
        }
        self.asked = None;
    }

    fn receive(&mut self, from: SocketAddr, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        let (Some(server), Some(asked)) = (self.servers.get(self.at), &self.asked) else {
            return;
        };
        let inputs = EncryptionInputs {
            secret: &server.secret,
            authenticator: &asked.authenticator,
        };
        let packet = self.answer(from, bytes);
        let outcome = packet.and_then(|packet| outcome(&packet, &self.request.question, inputs));
        let id = server.id;
        let Some(outcome) = outcome else {
            return out.push(Action::Count(id, Count::Bad));
        };
        out.push(Action::Answered(id, now.saturating_since(asked.since)));
        out.push(Action::Count(
            id,
            match outcome {
                Outcome::Reject { .. } => Count::Reject,
                Outcome::Challenge { .. } => Count::Challenge,
                _ => Count::Accept,
            },
        ));
        self.finish(outcome, out);
    }
}

impl Machine for Exchange {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = &'static str;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Begin if self.asked.is_none() && !self.is_over => self.ask(now, out),
            Event::Begin => {}
            Event::Received { from, bytes } => self.receive(from, bytes, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.asked.as_ref().is_none_or(|asked| now < asked.until) {
            return;
        }
        let Some(id) = self.servers.get(self.at).map(|server| server.id) else {
            return;
        };
        if self.tries < TRIES {
            out.push(Action::Count(id, Count::Resend));
            return self.send(now, out);
        }
        out.push(Action::Count(id, Count::Timeout));
        self.at += 1;
        self.ask(now, out);
    }

    fn deadline(&self) -> Option<(Instant, &'static str)> {
        self.asked.as_ref().map(|asked| (asked.until, "answer"))
    }
}

/// Result of an answer; `None` if the answer does not fit the request. Secret and request authenticator decrypt keys.
fn outcome(
    packet: &Packet<'_>,
    question: &Question,
    inputs: EncryptionInputs<'_>,
) -> Option<Outcome> {
    let eap = match question {
        Question::Accounting { .. } => {
            return (packet.code() == code::ACCOUNTING_RESPONSE).then_some(Outcome::Noted);
        }
        Question::Access { .. } => None,
        Question::Eap { .. } => Some(packet.whole(kind::EAP_MESSAGE)),
    };
    Some(match (packet.code(), eap) {
        (code::ACCESS_ACCEPT, eap) => Outcome::Accept(accept(packet, eap, inputs)),
        (code::ACCESS_CHALLENGE, Some(eap)) => Outcome::Challenge {
            eap,
            state: packet
                .get(kind::STATE)
                .map_or_else(Vec::new, |of| of.value.to_vec()),
        },
        (code::ACCESS_REJECT | code::ACCESS_CHALLENGE, eap) => Outcome::Reject {
            eap: eap.unwrap_or_default(),
        },
        _ => return None,
    })
}

/// Reads the attributes of an access accept; `eap` is its EAP message, if the request used EAP.
fn accept(packet: &Packet<'_>, eap: Option<Vec<u8>>, inputs: EncryptionInputs<'_>) -> Accept {
    let group = packet.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP);
    let classes = packet.attributes().filter(|of| of.kind == kind::CLASS);
    let key = |kind| {
        let hidden = packet.of_vendor(vendor::MICROSOFT, kind)?;
        secret::reveal(hidden, inputs.secret, inputs.authenticator)
    };
    let keys = || {
        let received = key(vendor::MS_MPPE_RECV_KEY)?;
        Some(Key([received, key(vendor::MS_MPPE_SEND_KEY)?].concat()))
    };
    Accept {
        group: group
            .and_then(|group| core::str::from_utf8(group).ok())
            .map(str::to_owned),
        session_timeout: packet.number(kind::SESSION_TIMEOUT),
        idle_timeout: packet.number(kind::IDLE_TIMEOUT),
        interim: packet.number(kind::INTERIM_INTERVAL),
        classes: classes.map(|of| of.value.to_vec()).collect(),
        key: eap.as_ref().and_then(|_| keys()),
        eap: eap.unwrap_or_default(),
    }
}

/// Inputs to the encryption of attributes in an answer.
#[derive(Clone, Copy)]
struct EncryptionInputs<'a> {
    /// Shared secret.
    secret: &'a [u8],
    /// Authenticator of the request.
    authenticator: &'a [u8; 16],
}

/// Adds traffic attributes. Byte counters have 64 bits in two attributes (RFC 2869, 5.1).
fn went_through(mut built: Builder, through: &Through, status: Status) -> Builder {
    if let Some(IpAddr::V4(v4)) = through.address {
        built = built.with(kind::FRAMED_IP_ADDRESS, &v4.octets());
    }
    if status == Status::Start {
        return built;
    }
    let ((input_packets, input), (output_packets, output)) = (through.input, through.output);
    [
        (kind::INPUT_OCTETS, input),
        (kind::INPUT_GIGAWORDS, input >> 32),
        (kind::OUTPUT_OCTETS, output),
        (kind::OUTPUT_GIGAWORDS, output >> 32),
        (kind::INPUT_PACKETS, input_packets),
        (kind::OUTPUT_PACKETS, output_packets),
    ]
    .into_iter()
    // Low 32 bits; the Gigawords attributes hold the rest.
    .fold(built, |built, (kind, count)| {
        built.with_number(kind, count as u32)
    })
}

/// Service-Type of a login and of traffic through the router (RFC 2865, 5.6); NAS-Port-Type virtual (RFC 2865, 5.41).
const ADMINISTRATIVE: u32 = 6;
const FRAMED: u32 = 2;
const VIRTUAL: u32 = 5;

/// Builds the packet of a request; `None` if it does not fit.
fn packet(request: &Request, server: &Server, id: u8, random: [u8; 16]) -> Option<Vec<u8>> {
    let built = match &request.question {
        Question::Access { password } if password.len() > PASSWORD => return None,
        Question::Access { password } => {
            let hidden = secret::hide(password, &server.secret, &random);
            asking(id, random)
                .with(kind::USER_PASSWORD, &hidden)
                .with_number(kind::SERVICE_TYPE, ADMINISTRATIVE)
        }
        Question::Eap { message, state } => {
            let built = asking(id, random)
                .with_whole(kind::EAP_MESSAGE, message)
                .with_number(kind::SERVICE_TYPE, FRAMED);
            match state.is_empty() {
                true => built,
                false => built.with(kind::STATE, state),
            }
        }
        Question::Accounting {
            status,
            seconds,
            through,
        } => {
            let built = Builder::new(code::ACCOUNTING_REQUEST, id, [0; 16]);
            let built = with_accounting(built, *status, *seconds, through.as_ref());
            let classes = request.classes.iter();
            classes.fold(built, |built, class| built.with(kind::CLASS, class))
        }
    };
    let mut bytes = about(built, request, server).finish()?;
    let is_accounting = matches!(request.question, Question::Accounting { .. });
    secret::sign(&mut bytes, &server.secret, is_accounting);
    Some(bytes)
}

/// Starts an access request. Message-Authenticator comes first, as a defence against CVE-2024-3596.
fn asking(id: u8, random: [u8; 16]) -> Builder {
    Builder::new(code::ACCESS_REQUEST, id, random).with(kind::MESSAGE_AUTHENTICATOR, &[0; 16])
}

/// Adds accounting attributes. The user was authenticated by RADIUS (RFC 2866, 5.6).
fn with_accounting(
    built: Builder,
    status: Status,
    seconds: u32,
    through: Option<&Through>,
) -> Builder {
    let service = if through.is_some() {
        FRAMED
    } else {
        ADMINISTRATIVE
    };
    let mut built = built
        .with_number(kind::SERVICE_TYPE, service)
        .with_number(kind::STATUS, status as u32)
        .with_number(kind::AUTHENTIC, 1);
    if status != Status::Start {
        built = built.with_number(kind::SESSION_TIME, seconds);
    }
    match through {
        Some(through) => went_through(built, through, status),
        None => built,
    }
}

/// Adds attributes of user and router.
fn about(built: Builder, request: &Request, server: &Server) -> Builder {
    let user = match server.realm.is_empty() || request.user.contains('@') {
        true => request.user.clone(),
        false => format!("{}@{}", request.user, server.realm),
    };
    let mut built = built
        .with(kind::USER_NAME, user.as_bytes())
        .with_number(kind::NAS_PORT_TYPE, VIRTUAL)
        .with(kind::NAS_PORT_ID, request.port.as_bytes())
        .with(kind::NAS_IDENTIFIER, request.router.as_bytes())
        .with(kind::CALLING_STATION, request.calling.as_bytes());
    if !request.called.is_empty() {
        built = built.with(kind::CALLED_STATION, request.called.as_bytes());
    }
    if !request.session.is_empty() {
        built = built.with(kind::SESSION, request.session.as_bytes());
    }
    match server.source {
        Some(IpAddr::V4(v4)) => built.with(kind::NAS_IP_ADDRESS, &v4.octets()),
        Some(IpAddr::V6(v6)) => built.with(kind::NAS_IPV6_ADDRESS, &v6.octets()),
        None => built,
    }
}
