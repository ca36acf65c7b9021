//! One tunnel: its control connection and the calls on it (RFC 2661, 7.2 to 7.4; RFC 3931, 7).
//!
//! `calls.rs` has the messages of calls. A client opens one call on its tunnel; a server accepts any number.

mod call;
mod calls;

use std::collections::BTreeMap;

use machine::{Duration, Instant, Rng};

use crate::avp::attribute;
use crate::channel::{Channel, DEFAULT_WINDOW, Expiry, Order, Outgoing};
use crate::dialect::Dialect;
use crate::event::{Action, Fault, Path, PeerResult, Reason, SessionId};
use crate::half_open::{CHALLENGE, HalfOpen};
use crate::header::{Control, Version};
use crate::message::{Message, kind, result};
use crate::secret::Secret;
use call::Call;

/// Time for which a server keeps a tunnel without sessions, and a call may take to open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which a stopped tunnel acknowledges repeated messages: one cycle of retransmissions (RFC 2661, 5.7).
const LINGER: Duration = Duration::from_secs(31);
/// Maximum number of calls of a tunnel before ICCN.
const MAX_OPENING: usize = 256;

/// What a tunnel needs of its endpoint, and its outputs.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) rng: &'a mut Rng,
    /// Whether the server may open another session.
    pub(crate) has_room: bool,
    /// The session number of version 3 that was assigned last.
    pub(crate) last_session: &'a mut u32,
    pub(crate) actions: &'a mut Vec<Action>,
}

/// State of the control connection.
#[derive(Clone, Debug)]
enum State {
    /// SCCRQ was sent, with this challenge if the tunnel has a secret.
    AwaitsReply(Option<[u8; CHALLENGE]>),
    Established,
    /// One end sent StopCCN. The tunnel ends at this time.
    Stopped(Instant),
}

/// A tunnel.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    id: u32,
    remote_id: u32,
    dialect: Dialect,
    pub(crate) path: Path,
    /// Client that opened the tunnel; `None` for a tunnel of the server.
    pub(crate) client: Option<u64>,
    secret: Option<Secret>,
    host_name: Box<str>,
    channel: Channel,
    state: State,
    calls: BTreeMap<u32, Call>,
    /// Calls that are not open yet.
    opening: usize,
    /// Time of the last message or PPP packet.
    heard: Instant,
    hello_at: Instant,
    /// When a server's tunnel without calls ends.
    idle_at: Option<Instant>,
    /// Time of the next check of unanswered calls.
    check_at: Option<Instant>,
    /// A message must be acknowledged.
    owes_acknowledgement: bool,
}

impl Tunnel {
    /// Returns the tunnel of a client, and queues its SCCRQ.
    pub(crate) fn dial(
        id: u32,
        client: u64,
        path: Path,
        identity: Identity<'_>,
        cx: &mut Context<'_>,
    ) -> Self {
        let Identity {
            dialect, secret, ..
        } = identity;
        let has_challenge = dialect.version() == Version::Two && secret.is_some();
        let challenge = has_challenge.then(|| challenge(cx.rng));
        let hello_interval = dialect.hello_interval();
        let mut request = dialect.describe(kind::SCCRQ, identity.host_name, id);
        if let Some(challenge) = &challenge {
            request = request.mandatory(attribute::CHALLENGE, challenge);
        }
        let mut tunnel = Self {
            id,
            remote_id: 0,
            dialect,
            path,
            client: Some(client),
            secret,
            host_name: Box::default(),
            channel: Channel::new(0, 0, DEFAULT_WINDOW),
            state: State::AwaitsReply(challenge),
            calls: BTreeMap::new(),
            opening: 0,
            heard: cx.now,
            hello_at: cx.now + hello_interval,
            idle_at: None,
            check_at: None,
            owes_acknowledgement: false,
        };
        tunnel.send(Outgoing {
            session: 0,
            body: request.finish(),
        });
        tunnel
    }

    /// Returns the tunnel of an initiator that sent its SCCCN.
    pub(crate) fn accept(id: u32, from: HalfOpen, now: Instant) -> Self {
        let hello_interval = from.dialect.hello_interval();
        Self {
            id,
            remote_id: from.remote_id,
            dialect: from.dialect,
            path: from.path,
            client: None,
            secret: from.secret,
            host_name: from.host_name,
            channel: Channel::new(1, 2, from.window),
            state: State::Established,
            calls: BTreeMap::new(),
            opening: 0,
            heard: now,
            hello_at: now + hello_interval,
            idle_at: Some(now + IDLE_TIMEOUT),
            check_at: None,
            owes_acknowledgement: true,
        }
    }

    /// Number of calls, open or not.
    pub(crate) fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// Returns true if nothing is left to do: the tunnel can be forgotten.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        matches!(self.state, State::Stopped(until) if until <= now)
    }

    /// Handles a control message from the tunnel's address.
    pub(crate) fn receive(
        &mut self,
        control: &Control<'_>,
        path: &Path,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let secret = self.dialect.hiding_secret(self.secret.as_ref());
        let message = match control.body {
            [] => None,
            body => Some(Message::parse(control.version, body, secret.as_ref())),
        };
        let parsed = message.as_ref().and_then(|message| message.as_ref().ok());
        // A late SCCRP of another attempt has other random bytes.
        let awaits_reply = matches!(self.state, State::AwaitsReply(_));
        self.dialect
            .check(control, parsed.filter(|_| awaits_reply))?;
        let message = message.filter(|message| match message {
            Ok(message) => message.kind != kind::ACK || control.version == Version::Two,
            Err(_) => true,
        });
        let is_message = message.is_some();
        let order = self
            .channel
            .receive(control.ns, control.nr, is_message, cx.now);
        match order {
            Order::Next => {}
            Order::Duplicate => {
                self.owes_acknowledgement = true;
                return Err(Fault::Duplicate);
            }
            Order::Ahead | Order::Forged => return Err(Fault::Sequence),
        }
        self.heard = cx.now;
        let Some(message) = message else {
            self.finish_stop(cx.now);
            return Ok(());
        };
        self.owes_acknowledgement = true;
        self.follow(path, cx);
        if let State::Stopped(_) = self.state {
            return Ok(());
        }
        match message {
            Ok(message) => {
                let session = message.remote_session.unwrap_or(control.session);
                self.handle(session, &message, cx)
            }
            Err(fault) => {
                self.refuse(control.session, fault, cx);
                Err(fault)
            }
        }
    }

    /// Ends a tunnel at once whose StopCCN is acknowledged.
    fn finish_stop(&mut self, now: Instant) {
        if matches!(self.state, State::Stopped(_)) && self.channel.is_empty() {
            self.state = State::Stopped(now);
        }
    }

    /// Follows the other end to another port: a NAT between the ends chose it.
    pub(crate) fn follow(&mut self, path: &Path, cx: &mut Context<'_>) {
        if self.path.local.ip().is_unspecified() {
            self.path.local = path.local;
        }
        self.path.is_protected |= path.is_protected;
        if self.path.remote == path.remote {
            return;
        }
        self.path.remote = path.remote;
        let open = self.open_sessions();
        if !open.is_empty() {
            cx.actions.push(Action::Moved(open, self.path));
        }
    }

    fn open_sessions(&self) -> Vec<SessionId> {
        let open = self.calls.iter().filter(|(_, call)| call.is_open());
        open.map(|(session, _)| self.session(*session)).collect()
    }

    const fn session(&self, session: u32) -> SessionId {
        SessionId {
            tunnel: self.id,
            session,
        }
    }

    fn handle(
        &mut self,
        session: u32,
        message: &Message<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        match (&self.state, message.kind) {
            (_, kind::STOP_CCN) => self.stopped(message, cx),
            (State::AwaitsReply(challenge), kind::SCCRP) => {
                let challenge = *challenge;
                self.replied(message, challenge, cx)?;
            }
            (State::AwaitsReply(_), _) => return Err(Fault::State),
            (_, kind::HELLO | kind::WEN | kind::SLI) => {}
            (_, kind::ICRQ) => self.call_requested(message, cx)?,
            (_, kind::ICRP) => self.call_replied(session, message, cx)?,
            (_, kind::ICCN) => self.call_connected(session, message, cx)?,
            (_, kind::OCRQ) => {
                let remote = message.assigned_session.unwrap_or(0);
                self.disconnect(0, remote, (result::NO_FACILITIES_EVER, 0));
            }
            (_, kind::CDN) => self.call_disconnected(session, message, cx)?,
            (_, kind::SCCRQ | kind::SCCRP | kind::SCCCN | kind::OCRP | kind::OCCN) => {
                return Err(Fault::State);
            }
            _ if message.is_mandatory => {
                self.refuse(0, Fault::UnknownAvp, cx);
                return Err(Fault::UnknownAvp);
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles SCCRP.
    fn replied(
        &mut self,
        message: &Message<'_>,
        challenge: Option<[u8; CHALLENGE]>,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let remote_id = message.assigned_tunnel.filter(|id| *id != 0);
        let Some(remote_id) = remote_id else {
            self.stop((result::ERROR, result::ERROR_VALUE), cx.now);
            self.end(&Reason::Protocol(Fault::Malformed), cx);
            return Err(Fault::Malformed);
        };
        self.remote_id = remote_id;
        self.host_name = text(message.host_name.as_deref().unwrap_or_default());
        let secret = self.secret.clone();
        let response = message.response.as_deref();
        let is_proved = match (&secret, &challenge) {
            (Some(secret), Some(challenge)) => secret.accepts(kind::SCCRP, challenge, response),
            _ => true,
        };
        let mut connected = self.dialect.begin(kind::SCCCN);
        let can_answer = match (&message.challenge, &secret) {
            (Some(challenge), Some(secret)) => {
                let response = secret.response(kind::SCCCN, challenge);
                connected = connected.mandatory(attribute::CHALLENGE_RESPONSE, &response);
                true
            }
            (Some(_), None) => false,
            (None, _) => true,
        };
        if !is_proved || !can_answer {
            self.stop((result::NOT_AUTHORIZED, 0), cx.now);
            self.end(&Reason::Authentication, cx);
            return Err(Fault::Authentication);
        }
        self.channel
            .set_window(message.window.unwrap_or(DEFAULT_WINDOW));
        self.state = State::Established;
        self.send(Outgoing {
            session: 0,
            body: connected.finish(),
        });
        self.request_call(cx);
        Ok(())
    }

    /// Handles StopCCN.
    fn stopped(&mut self, message: &Message<'_>, cx: &mut Context<'_>) {
        let result = peer_result(message);
        let reason = match result.code {
            result::NOT_AUTHORIZED => Reason::Authentication,
            _ => Reason::Peer(result),
        };
        // The answer to the StopCCN needs the number of the other end.
        self.remote_id = message.assigned_tunnel.unwrap_or(self.remote_id);
        self.channel = Channel::new(self.channel.ns(), self.channel.nr(), DEFAULT_WINDOW);
        self.state = State::Stopped(cx.now + LINGER);
        self.end(&reason, cx);
    }

    /// Refuses a message: ends its session, or the tunnel.
    fn refuse(&mut self, session: u32, fault: Fault, cx: &mut Context<'_>) {
        let error = match fault {
            Fault::UnknownAvp => result::ERROR_UNKNOWN,
            _ => result::ERROR_LENGTH,
        };
        let reason = match fault {
            Fault::Hidden => Reason::Authentication,
            _ => Reason::Protocol(fault),
        };
        match self.calls.contains_key(&session) {
            true => self.fail_call(session, (result::ERROR, error), &reason, cx),
            false => {
                self.stop((result::ERROR, error), cx.now);
                self.end(&reason, cx);
            }
        }
    }

    /// Sends StopCCN with a result and an error code. The owner of the sessions is not told.
    pub(crate) fn stop(&mut self, code: (u16, u16), now: Instant) {
        if matches!(self.state, State::Stopped(_)) {
            return;
        }
        if matches!(self.state, State::AwaitsReply(_)) && self.remote_id == 0 {
            // The other end has not answered, and gets nothing that it could match to a tunnel.
            self.state = State::Stopped(now);
            return;
        }
        self.send(self.dialect.stop(self.id, code));
        self.state = State::Stopped(now + LINGER);
    }

    /// Reports the end of all calls, and the failure of a client without an open session.
    pub(crate) fn end(&mut self, reason: &Reason, cx: &mut Context<'_>) {
        let open = self.open_sessions();
        let client = self.client.take().filter(|_| open.is_empty());
        let closed = open.into_iter();
        let closed = closed.map(|session| Action::Closed(session, reason.clone()));
        cx.actions.extend(closed);
        let failed = client.map(|client| Action::Failed(client, reason.clone()));
        cx.actions.extend(failed);
        self.forget_calls();
    }

    /// Forgets all calls.
    pub(crate) fn forget_calls(&mut self) {
        self.calls.clear();
        self.opening = 0;
        (self.idle_at, self.check_at) = (None, None);
    }

    /// Queues a message.
    fn send(&mut self, message: Outgoing) {
        // An end that acknowledges nothing for 256 messages is dead after the retransmissions of the oldest.
        self.channel.push(message);
    }

    /// Sends what the window admits, or an acknowledgement that is owed.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) {
        let nr = self.channel.nr();
        let (tunnel, path) = (self.remote_id, self.path);
        while let Some((ns, message)) = self.channel.pop(cx.now) {
            let datagram = self.dialect.encode(tunnel, (ns, nr), message);
            cx.actions.push(Action::Send(path, datagram));
            self.owes_acknowledgement = false;
        }
        if core::mem::take(&mut self.owes_acknowledgement) {
            let numbers = (self.channel.ns(), nr);
            let acknowledgement = self.dialect.acknowledgement();
            let datagram = self.dialect.encode(tunnel, numbers, &acknowledgement);
            cx.actions.push(Action::Send(path, datagram));
        }
    }

    /// Handles due timers.
    pub(crate) fn tick(&mut self, cx: &mut Context<'_>) {
        match self.channel.expire(cx.now) {
            Expiry::Idle => {}
            Expiry::Resend => {
                let nr = self.channel.nr();
                if let Some((ns, message)) = self.channel.oldest() {
                    let datagram = self.dialect.encode(self.remote_id, (ns, nr), message);
                    cx.actions.push(Action::Send(self.path, datagram));
                }
            }
            Expiry::Dead => {
                self.state = State::Stopped(cx.now);
                return self.end(&Reason::Timeout, cx);
            }
        }
        if !matches!(self.state, State::Established) {
            return;
        }
        if self.hello_at <= cx.now {
            self.hello_at = self.heard + self.dialect.hello_interval();
            if self.hello_at <= cx.now {
                self.probe(cx.now);
            }
        }
        if self.check_at.is_some_and(|at| at <= cx.now) {
            self.check_calls(cx);
        }
        if self.idle_at.is_some_and(|at| at <= cx.now) {
            self.idle_at = None;
            self.stop((result::CLEARED, 0), cx.now);
        }
    }

    /// Sends HELLO: the tunnel of an end that acknowledges nothing ends.
    pub(crate) fn probe(&mut self, now: Instant) {
        self.hello_at = now + self.dialect.hello_interval();
        if matches!(self.state, State::Established) {
            let hello = self.dialect.begin(kind::HELLO).finish();
            self.send(Outgoing {
                session: 0,
                body: hello,
            });
        }
    }

    /// Returns when `tick` is due.
    pub(crate) fn deadline(&self) -> Instant {
        let end = match self.state {
            State::Stopped(until) => Some(until),
            State::Established => Some(self.hello_at),
            State::AwaitsReply(_) => None,
        };
        let all = [end, self.channel.deadline(), self.idle_at, self.check_at];
        all.into_iter()
            .flatten()
            .min()
            .unwrap_or(Instant::FAR_FUTURE)
    }
}

/// What a client's tunnel begins with.
pub(crate) struct Identity<'a> {
    pub(crate) host_name: &'a str,
    pub(crate) dialect: Dialect,
    pub(crate) secret: Option<Secret>,
}

/// Returns a new challenge.
pub(crate) fn challenge(rng: &mut Rng) -> [u8; CHALLENGE] {
    let mut challenge = [0; CHALLENGE];
    rng.fill(&mut challenge);
    challenge
}

/// Returns a name that another end sent: cut to 64 characters, without control characters.
pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(bytes);
    let plain = text.chars().filter(|letter| !letter.is_control());
    plain.take(64).collect::<String>().into()
}

fn peer_result(message: &Message<'_>) -> PeerResult {
    let (code, error, said) = message.result.clone().unwrap_or_default();
    PeerResult {
        code,
        error,
        text: text(said.as_bytes()),
    }
}
