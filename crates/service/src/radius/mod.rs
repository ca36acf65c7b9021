//! RADIUS as a client (RFC 2865, 2866, 3579, 5080): one question to servers that know users, and what they answer.
//!
//! ```text
//!            ┌── no answer in time, up to TRIES ──┐
//! new ─▶ asked (server n) ───────────────────────┘── no more tries ─▶ asked (server n+1) … nobody
//!            └── an answer that is proved ─▶ done
//! ```
//! A question has a socket of its own, so that a port of 16 bits, a number of 8 and an authenticator of 128 have to be
//! guessed by who sends answers that are none. What is sent again is the same packet (RFC 5080, 2.2.1), so that the
//! server knows it again. Answers that are not proved are counted and forgotten: the real one may still come.

mod secret;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};

use machine::{Duration, Instant, Machine, Rng};
use wire::radius::{Builder, Packet, code, kind, vendor};

pub use secret::{PASSWORD, is_servers};

/// How often one server is asked.
const TRIES: u32 = 3;
/// Servers that are asked one after the other.
pub const SERVERS: usize = 8;

/// A server of `/radius`.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// The number of its item.
    pub id: u64,
    /// Where it is asked.
    pub address: IpAddr,
    /// The port for authentication.
    pub authentication: u16,
    /// The port for accounting.
    pub accounting: u16,
    /// The secret that it shares with this router.
    pub secret: Vec<u8>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// The address to ask from.
    pub source: Option<IpAddr>,
    /// What stands behind `@` in names of users that have none there.
    pub realm: String,
    /// Whether answers about users need a Message-Authenticator.
    pub needs_message_authenticator: bool,
}

impl core::fmt::Debug for Server {
    /// Without the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Server({} {})", self.id, self.address)
    }
}

/// Whether a session begins, goes on, or has ended (RFC 2866, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Start
    Start = 1,
    /// Stop
    Stop = 2,
    /// Interim-Update
    Interim = 3,
}

/// What servers are asked or told.
#[derive(Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether somebody is who he says to be.
    Access {
        /// The password.
        password: Vec<u8>,
    },
    /// What a user says by EAP.
    Eap {
        /// The message.
        message: Vec<u8>,
        /// State of the challenge that it answers; empty at first.
        state: Vec<u8>,
    },
    /// What becomes of a session.
    Accounting {
        /// What of it.
        status: Status,
        /// How long it has lasted.
        seconds: u32,
        /// What goes through this router for the user; none where the session is with the router itself.
        through: Option<Through>,
    },
}

/// What goes through this router in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Through {
    /// The address that the user was given.
    pub address: Option<IpAddr>,
    /// Packets and bytes from the user.
    pub input: (u64, u64),
    /// Packets and bytes to the user.
    pub output: (u64, u64),
}

/// A question, and about whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub question: Question,
    /// The user.
    pub user: String,
    /// Where the user is.
    pub calling: String,
    /// Where the user wants to; empty where that is no question.
    pub called: String,
    /// The name of this router.
    pub router: String,
    /// The way in: `ssh`.
    pub port: &'static str,
    /// Tells the session from others; empty before there is one.
    pub session: String,
    /// What the server said when it let the user in, to be told again.
    pub classes: Vec<Vec<u8>>,
}

/// What somebody may do whom a server has let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// The group: Mikrotik-Group.
    pub group: Option<String>,
    /// How long the session may last, in seconds.
    pub session_timeout: Option<u32>,
    /// How long it may be idle, in seconds.
    pub idle_timeout: Option<u32>,
    /// How often the server is to be told of it, in seconds.
    pub interim: Option<u32>,
    /// What is told again in accounting.
    pub classes: Vec<Vec<u8>>,
    /// What the user is told by EAP; empty without it.
    pub eap: Vec<u8>,
    /// The key that EAP gave: MS-MPPE-Recv-Key and MS-MPPE-Send-Key, one behind the other.
    pub key: Option<Key>,
}

/// A key. It is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub Vec<u8>);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The user comes in.
    Accept(Accept),
    /// The user is told this by EAP, and what is answered is asked with this state.
    Challenge {
        /// The message.
        eap: Vec<u8>,
        /// The state.
        state: Vec<u8>,
    },
    /// The user does not. A challenge to a password is one, too: nobody could answer it.
    Reject {
        /// What the user is told by EAP; empty without it.
        eap: Vec<u8>,
    },
    /// The server has taken note.
    Noted,
    /// No server has answered.
    Nobody,
}

/// What is counted of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A question was sent for the first time.
    Request,
    /// The same again.
    Resend,
    /// It has let a user in, or taken note.
    Accept,
    /// It has refused a user.
    Reject,
    /// It wants to know more of a user.
    Challenge,
    /// There was no answer in time, however often it was asked.
    Timeout,
    /// An answer that is none, or not proved, or of another.
    Bad,
}

/// What can happen to a question.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It is asked.
    Begin,
    /// A datagram arrived at its socket.
    Received {
        /// Whose it is.
        from: SocketAddr,
        /// What is in it.
        bytes: &'a [u8],
    },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A datagram goes to a server.
    Send {
        /// The server.
        to: SocketAddr,
        /// The address that it goes from, where that is said.
        source: Option<IpAddr>,
        /// What is in it.
        bytes: Vec<u8>,
    },
    /// Something is counted of the server with this number.
    Count(u64, Count),
    /// A server has answered, after so long.
    Answered(u64, Duration),
    /// It is over.
    Done(Outcome),
}

/// One question to servers, one after the other.
pub struct Exchange {
    servers: Vec<Server>,
    request: Request,
    rng: Rng,
    /// Which server is asked, and how often it was.
    at: usize,
    tries: u32,
    asked: Option<Asked>,
    is_over: bool,
}

/// What was asked last.
struct Asked {
    bytes: Vec<u8>,
    authenticator: [u8; 16],
    since: Instant,
    until: Instant,
}

impl core::fmt::Debug for Exchange {
    /// Without secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exchange")
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

impl Exchange {
    /// A question to these servers, in their order. Numbers and authenticators come from `rng`, whose numbers nobody
    /// may guess (RFC 2865, 3).
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

    /// Whether a datagram is a proved answer of the server that was asked last.
    fn answer<'b>(&self, from: SocketAddr, bytes: &'b [u8]) -> Option<Packet<'b>> {
        let (server, asked) = (self.servers.get(self.at)?, self.asked.as_ref()?);
        let packet = Packet::new_checked(bytes).ok()?;
        let is_its = from.ip().to_canonical() == server.address
            && Some(packet.id()) == asked.bytes.get(1).copied();
        // EAP is never without (RFC 3579, 3.2).
        let needs = match self.request.question {
            Question::Access { .. } => server.needs_message_authenticator,
            Question::Eap { .. } => true,
            Question::Accounting { .. } => false,
        };
        let proved =
            is_its && secret::is_proved(&packet, &asked.authenticator, &server.secret, needs);
        proved.then_some(packet)
    }

    /// Asks the server at hand for the first time, or the next one where it cannot be asked.
    fn ask(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some(server) = self.servers.get(self.at) {
            let mut random = [0; 16];
            self.rng.fill(&mut random);
            let id = self.rng.next_u32() as u8;
            if let Some(bytes) = packet(&self.request, server, id, random) {
                let authenticator =
                    Packet::new_checked(&bytes).map_or(random, |of| of.authenticator());
                self.tries = 0;
                self.asked = Some(Asked {
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
        let hides = (server.secret.as_slice(), &asked.authenticator);
        let packet = self.answer(from, bytes);
        let outcome = packet.and_then(|packet| outcome(&packet, &self.request.question, hides));
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

/// What an answer says; none where it is none to such a question. The secret and the authenticator of the request
/// hide keys.
fn outcome(packet: &Packet<'_>, question: &Question, hides: Hides<'_>) -> Option<Outcome> {
    let eap = match question {
        Question::Accounting { .. } => {
            return (packet.code() == code::ACCOUNTING_RESPONSE).then_some(Outcome::Noted);
        }
        Question::Access { .. } => None,
        Question::Eap { .. } => Some(packet.whole(kind::EAP_MESSAGE)),
    };
    Some(match (packet.code(), eap) {
        (code::ACCESS_ACCEPT, eap) => Outcome::Accept(accept(packet, eap, hides)),
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

/// What a server gives a user whom it lets in; `eap` is what it says by EAP, if the question was of that.
fn accept(packet: &Packet<'_>, eap: Option<Vec<u8>>, (secret, authenticator): Hides<'_>) -> Accept {
    let group = packet.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP);
    let classes = packet.attributes().filter(|of| of.kind == kind::CLASS);
    let key = |kind| {
        let hidden = packet.of_vendor(vendor::MICROSOFT, kind)?;
        secret::reveal(hidden, secret, authenticator)
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

/// The shared secret, and the authenticator of a request: what hides attributes of its answer.
type Hides<'a> = (&'a [u8], &'a [u8; 16]);

/// What goes through this router. Counters of bytes have 64 bits in two attributes (RFC 2869, 5.1).
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
    // The low 32 bits: the rest is in the attributes for it.
    .fold(built, |built, (kind, count)| {
        built.with_number(kind, count as u32)
    })
}

/// Service-Type of who administers a device, and of who goes through it (RFC 2865, 5.6); of a virtual port (RFC 2865,
/// 5.41).
const ADMINISTRATIVE: u32 = 6;
const FRAMED: u32 = 2;
const VIRTUAL: u32 = 5;

/// The packet of a request; none where it does not fit.
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
            let built = telling(built, *status, *seconds, through.as_ref());
            let classes = request.classes.iter();
            classes.fold(built, |built, class| built.with(kind::CLASS, class))
        }
    };
    let mut bytes = about(built, request, server).finish()?;
    let is_accounting = matches!(request.question, Question::Accounting { .. });
    secret::sign(&mut bytes, &server.secret, is_accounting);
    Some(bytes)
}

/// The beginning of a packet that asks. What proves it is first, so that nobody can put something before it (the
/// advice against CVE-2024-3596).
fn asking(id: u8, random: [u8; 16]) -> Builder {
    Builder::new(code::ACCESS_REQUEST, id, random).with(kind::MESSAGE_AUTHENTICATOR, &[0; 16])
}

/// Adds what a session is and has been. Who is in it was authenticated by RADIUS (RFC 2866, 5.6).
fn telling(built: Builder, status: Status, seconds: u32, through: Option<&Through>) -> Builder {
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

/// Adds who and where the user is, and where the question comes from.
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
