//! IKEv2 (RFC 7296): an IKE SA with its exchanges.
//!
//! ```text
//!  init.rs      IKE_SA_INIT, cookies          ──▶ keys.rs
//!  auth.rs      IKE_AUTH: secrets, signatures (prove.rs), EAP
//!  child.rs     pairs of SAs, with offer.rs and traffic.rs
//!  renew.rs     rekeying of the IKE SA
//!  info.rs      deletions and liveness checks
//!  mobike.rs    address changes of either side (RFC 4555)
//! ```
//!
//! Each side has one outstanding request (window size 1), and repeats its response to a repeated request.

mod allow;
mod auth;
mod child;
mod gather;
mod info;
mod init;
mod keys;
mod mobike;
mod offer;
mod proof;
mod prove;
mod renew;
mod traffic;

use std::collections::VecDeque;

use machine::{Duration, Instant};

use crate::config::{PolicyId, Protocol};
use crate::crypto::Agreement;
use crate::engine::core::{Common, Context, Order, Path, Resend};
use crate::event::{Action, ChildId, Level, SaId, Side, State, Why};
use crate::message::{Chain, Fault, Header, Notify, Payload, Version, payloads};
use crate::suite::Hash;
use child::ChildRequest;
use gather::Gather;
use keys::Keys;
use proof::Proof;
use renew::Renewal;

pub(crate) use init::is_first;

/// Payload types (RFC 7296, 3.2).
mod kind {
    pub(super) const SA: u8 = 33;
    pub(super) const KE: u8 = 34;
    pub(super) const ID_I: u8 = 35;
    pub(super) const ID_R: u8 = 36;
    pub(super) const CERT: u8 = 37;
    pub(super) const CERT_REQUEST: u8 = 38;
    pub(super) const AUTH: u8 = 39;
    pub(super) const NONCE: u8 = 40;
    pub(super) const NOTIFY: u8 = 41;
    pub(super) const DELETE: u8 = 42;
    pub(super) const TS_I: u8 = 44;
    pub(super) const TS_R: u8 = 45;
    pub(super) const CP: u8 = 47;
    pub(super) const EAP: u8 = 48;
}

/// Exchange types.
mod exchange {
    pub(super) const INIT: u8 = 34;
    pub(super) const AUTH: u8 = 35;
    pub(super) const CHILD: u8 = 36;
    pub(super) const INFORMATIONAL: u8 = 37;
}

/// Notify message types (RFC 7296, 3.10.1; RFC 4555, 4; RFC 7383; RFC 7427).
mod notify {
    pub(super) const UNSUPPORTED: u16 = 1;
    pub(super) const INVALID_SYNTAX: u16 = 7;
    pub(super) const NO_PROPOSAL: u16 = 14;
    pub(super) const INVALID_KE: u16 = 17;
    pub(super) const AUTHENTICATION_FAILED: u16 = 24;
    pub(super) const NO_ADDRESS: u16 = 36;
    pub(super) const TS_UNACCEPTABLE: u16 = 38;
    pub(super) const TEMPORARY: u16 = 43;
    pub(super) const NO_CHILD: u16 = 44;
    /// First status type; lower types are errors.
    pub(super) const STATUS: u16 = 16_384;
    pub(super) const INITIAL_CONTACT: u16 = 16_384;
    pub(super) const NAT_SOURCE: u16 = 16_388;
    pub(super) const NAT_DESTINATION: u16 = 16_389;
    pub(super) const COOKIE: u16 = 16_390;
    pub(super) const TRANSPORT: u16 = 16_391;
    pub(super) const REKEY: u16 = 16_393;
    pub(super) const MOBIKE: u16 = 16_396;
    pub(super) const UPDATE_ADDRESSES: u16 = 16_400;
    pub(super) const COOKIE2: u16 = 16_401;
    pub(super) const FRAGMENTS: u16 = 16_430;
    pub(super) const HASHES: u16 = 16_431;
}

/// Flag of messages of the original initiator.
pub(crate) const INITIATOR: u8 = 0x08;
const RESPONSE: u8 = 0x20;

/// Time limit for establishing an IKE SA.
const OPENING_TIMEOUT: Duration = Duration::from_secs(75);
/// Maximum length of unfragmented messages, and length of fragments if the peer supports them (RFC 7383).
const MAX_FRAGMENT_BYTES: usize = 1200;
/// Maximum number of queued requests.
const MAX_QUEUED_REQUESTS: usize = 1024;

/// Progress of the IKE SA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Init,
    Auth,
    /// EAP is running.
    Eap,
    /// EAP succeeded; AUTH with its key is pending.
    EapProof,
    Done,
}

/// A queued request.
#[derive(Debug)]
enum Task {
    Child(PolicyId, Option<ChildId>),
    Renew,
    /// Delete a pair by its local SPI; the pair itself may be gone.
    Delete(Protocol, u32, Option<ChildId>),
    Leave(Why),
    Alive,
    /// Announce a new local address.
    Move,
    /// Check a new address of the peer (UPDATE_SA_ADDRESSES, RFC 4555, 3.5).
    Verify,
}

/// The outstanding request.
enum Request {
    Init,
    /// With the first pair.
    Auth(Option<Box<ChildRequest>>),
    Child(Box<ChildRequest>),
    Renew(Box<Renewal>),
    Delete(Option<ChildId>),
    Leave(Why),
    Alive,
    Move,
    Verify(mobike::Check),
}

struct PendingRequest {
    id: u32,
    request: Request,
    resend: Resend,
}

/// Response to a request.
enum Reply {
    Now(Chain),
    /// Postponed: the pool or the RADIUS server has to answer first.
    Later,
    /// Ends the SA after the response.
    Over(Chain, Why),
}

/// A request with its endpoints.
struct Arrival {
    exchange: u8,
    path: Path,
}

/// An IKEv2 SA.
pub(crate) struct Sa {
    pub(crate) common: Common,
    stage: Stage,
    agreement: Option<Agreement>,
    tries: u8,
    cookie: Vec<u8>,
    /// Nonces and first messages, each of initiator and responder.
    nonces: (Vec<u8>, Vec<u8>),
    init: (Vec<u8>, Vec<u8>),
    ids: (Vec<u8>, Vec<u8>),
    keys: Option<Keys>,
    next_out: u32,
    next_in: u32,
    asked: Option<PendingRequest>,
    answered: Vec<Vec<u8>>,
    tasks: VecDeque<Task>,
    gather: Gather,
    fragments: bool,
    /// Both sides support MOBIKE.
    is_mobile: bool,
    /// Signature hashes that the peer supports (RFC 7427).
    hashes: Vec<Hash>,
    /// Responder: payloads of the first IKE_AUTH request, and message ID of a postponed response.
    opening: (u8, Vec<u8>),
    waiting: Option<u32>,
    pending: Option<Proof>,
    msk: Option<crate::config::Secret>,
    eap: Option<crate::eap::Client>,
    /// IKE SA from the peer's simultaneous rekey, and the lower nonce of that exchange.
    rival: Option<(SaId, Vec<u8>)>,
    renew_at: Option<Instant>,
    /// Time to send the delete.
    leave_at: Option<Instant>,
    over_at: Instant,
    gone: bool,
}

/// Returns the body of the first payload of a type.
fn body<'a>(payloads: &[Payload<'a>], kind: u8) -> Result<&'a [u8], Fault> {
    bodies(payloads, kind).next().ok_or(Fault::Value)
}

/// Iterates over the bodies of payloads of a type.
fn bodies<'a>(payloads: &[Payload<'a>], kind: u8) -> impl Iterator<Item = &'a [u8]> {
    payloads
        .iter()
        .filter(move |payload| payload.kind == kind)
        .map(|payload| payload.body)
}

/// Iterates over the notifications of a message.
fn notifies<'a>(payloads: &[Payload<'a>]) -> impl Iterator<Item = Notify<'a>> {
    bodies(payloads, kind::NOTIFY).filter_map(|body| Notify::read(Version::Two, body).ok())
}

/// Returns the first notification of a type.
fn notified<'a>(payloads: &[Payload<'a>], number: u16) -> Option<Notify<'a>> {
    notifies(payloads).find(|notify| notify.kind == number)
}

/// Returns the first error notification.
fn error(payloads: &[Payload<'_>]) -> Option<u16> {
    notifies(payloads)
        .map(|notify| notify.kind)
        .find(|kind| *kind < notify::STATUS)
}

fn push_notify(chain: &mut Chain, number: u16, data: &[u8]) {
    chain.push(
        kind::NOTIFY,
        &Notify::plain(number, data).write(Version::Two),
    );
}

/// Builds a response with a single error.
fn refusal(number: u16) -> Chain {
    let mut chain = Chain::default();
    push_notify(&mut chain, number, &[]);
    chain
}

impl Sa {
    fn new(common: Common, now: Instant) -> Self {
        Self {
            common,
            stage: Stage::Init,
            agreement: None,
            tries: 0,
            cookie: Vec::new(),
            nonces: Default::default(),
            init: Default::default(),
            ids: Default::default(),
            keys: None,
            next_out: 0,
            next_in: 0,
            asked: None,
            answered: Vec::new(),
            tasks: VecDeque::new(),
            gather: Gather::default(),
            fragments: false,
            is_mobile: false,
            hashes: Vec::new(),
            opening: Default::default(),
            waiting: None,
            pending: None,
            msk: None,
            eap: None,
            rival: None,
            renew_at: None,
            leave_at: None,
            over_at: now + OPENING_TIMEOUT,
            gone: false,
        }
    }

    /// Returns the header of a message of this SA.
    const fn header(&self, exchange: u8, response: bool, id: u32) -> Header {
        let side = match self.common.side {
            Side::Initiator => INITIATOR,
            Side::Responder => 0,
        };
        Header {
            initiator: self.common.spis.0,
            responder: self.common.spis.1,
            next: 0,
            version: Version::Two,
            exchange,
            flags: if response { side | RESPONSE } else { side },
            id,
        }
    }

    /// Encrypts payloads into a message, fragmented if necessary.
    fn seal(&self, header: &Header, chain: &Chain, cx: &mut Context<'_>) -> Vec<Vec<u8>> {
        let Some(keys) = &self.keys else {
            return Vec::new();
        };
        let block = keys.agreed.cipher.block_len();
        let mut seal = |first, payloads: &[u8], fragment| {
            let iv = cx.core.random(block);
            keys.seal(header, first, payloads, fragment, &iv)
        };
        if !self.fragments || chain.bytes().len() <= MAX_FRAGMENT_BYTES {
            return vec![seal(chain.first(), chain.bytes(), None)];
        }
        let parts: Vec<_> = chain.bytes().chunks(MAX_FRAGMENT_BYTES).collect();
        let total = parts.len() as u16;
        let numbered = (1..).zip(parts);
        let sealed = numbered.map(|(at, part)| {
            let first = if at == 1 { chain.first() } else { 0 };
            seal(first, part, Some((at, total)))
        });
        sealed.collect()
    }

    /// Sends a request and starts its retransmission.
    fn ask(&mut self, number: u8, chain: &Chain, request: Request, cx: &mut Context<'_>) {
        let id = self.next_out;
        self.next_out += 1;
        let messages = self.seal(&self.header(number, false, id), chain, cx);
        for message in messages.clone() {
            self.common.send(message, cx);
        }
        let resend = Resend::new(messages, cx.now);
        let patience = self.common.patience().filter(|_| self.stage == Stage::Done);
        self.asked = Some(PendingRequest {
            id,
            request,
            resend: match patience {
                Some(patience) => resend.give_up_after(patience),
                None => resend,
            },
        });
    }

    /// Sends the response to the current request.
    fn answer(&mut self, number: u8, chain: &Chain, cx: &mut Context<'_>) {
        let header = self.header(number, true, self.next_in);
        self.answered = self.seal(&header, chain, cx);
        self.next_in += 1;
        for message in self.answered.clone() {
            self.common.send(message, cx);
        }
    }

    /// Processes a message. An error ends the SA.
    pub(crate) fn input(
        &mut self,
        header: &Header,
        message: &[u8],
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        self.common.count(message.len());
        if header.exchange == exchange::INIT {
            return self.init_message(header, message, cx);
        }
        let by_initiator = header.flags & INITIATOR != 0;
        let Some(keys) = self
            .keys
            .as_ref()
            .filter(|_| by_initiator == (self.common.side == Side::Responder))
        else {
            cx.core.count("ike2-unexpected");
            return Ok(());
        };
        let Ok(opened) = keys.open(header, message) else {
            cx.core.count("ike2-integrity");
            return Ok(());
        };
        self.heard(cx.now);
        let is_response = header.flags & RESPONSE != 0;
        let is_new = if is_response {
            self.asked
                .as_ref()
                .is_some_and(|asked| asked.id == header.id)
        } else {
            header.id == self.next_in
        };
        if is_new {
            self.common.follow(path, cx);
        } else if !is_response && header.id.wrapping_add(1) == self.next_in {
            // Repeated request: the response was lost. Only the first fragment triggers a repetition (RFC 7383,
            // 2.6.1).
            let again = opened.fragment.is_none_or(|(at, _)| at == 1);
            for message in self.answered.clone().into_iter().filter(|_| again) {
                self.common.send(message, cx);
            }
            return Ok(());
        } else {
            cx.core.count("ike2-message-id");
            return Ok(());
        }
        let Some((first, plain)) = self.gather.take(header, opened) else {
            return Ok(());
        };
        let found = match payloads(first, &plain, &[]) {
            Ok(found) => found,
            Err(fault) => {
                cx.core.count(fault.name());
                if !is_response {
                    self.answer(header.exchange, &refusal(notify::INVALID_SYNTAX), cx);
                }
                return Ok(());
            }
        };
        if is_response {
            return self.response(header.exchange, &found, cx);
        }
        let arrival = Arrival {
            exchange: header.exchange,
            path,
        };
        self.request(&arrival, first, &plain, &found, cx)
    }

    /// Processes a request.
    fn request(
        &mut self,
        arrival: &Arrival,
        first: u8,
        plain: &[u8],
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let number = arrival.exchange;
        if self.waiting.is_some() {
            return Ok(());
        }
        let unknown = found
            .iter()
            .any(|one| one.critical && !(33..=48).contains(&one.kind));
        let reply = match (number, self.stage) {
            _ if unknown => Reply::Now(refusal(notify::UNSUPPORTED)),
            (exchange::AUTH, Stage::Auth | Stage::Eap | Stage::EapProof) => {
                if self.stage == Stage::Auth {
                    self.opening = (first, plain.to_vec());
                }
                self.auth_request(found, cx)
            }
            (exchange::CHILD, Stage::Done) => self.child_request(found, cx),
            (exchange::INFORMATIONAL, Stage::Done) => self.informational(arrival, found, cx),
            _ => {
                cx.core.count("ike2-unexpected");
                return Ok(());
            }
        };
        self.reply(number, reply, cx)
    }

    fn reply(&mut self, number: u8, reply: Reply, cx: &mut Context<'_>) -> Result<(), Why> {
        match reply {
            Reply::Now(chain) => {
                self.answer(number, &chain, cx);
                self.go_on(cx);
                Ok(())
            }
            Reply::Later => {
                self.waiting = Some(self.next_in);
                Ok(())
            }
            Reply::Over(chain, why) => {
                self.answer(number, &chain, cx);
                self.gone = true;
                Err(why)
            }
        }
    }

    /// Processes a response.
    fn response(
        &mut self,
        number: u8,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let Some(asked) = self.asked.take() else {
            return Ok(());
        };
        let fits = match asked.request {
            Request::Init => false,
            Request::Auth(_) => number == exchange::AUTH,
            Request::Child(_) | Request::Renew(_) => number == exchange::CHILD,
            _ => number == exchange::INFORMATIONAL,
        };
        if !fits {
            cx.core.count("ike2-unexpected");
            self.asked = Some(asked);
            return Ok(());
        }
        match asked.request {
            Request::Init | Request::Alive => {}
            Request::Move => self.moved(found, cx)?,
            Request::Verify(check) => self.verified(&check, found, cx)?,
            Request::Auth(wanted) => {
                let policy = wanted.as_ref().map(|wanted| wanted.policy_id());
                if let Err(why) = self.auth_response(found, wanted, cx) {
                    let failed = policy.map(|policy| Order::Failed(policy, why));
                    cx.core.orders.extend(failed);
                    return Err(why);
                }
            }
            Request::Child(wanted) => self.child_response(*wanted, found, cx),
            Request::Renew(renewal) => self.renewed(*renewal, found, cx),
            Request::Delete(child) => {
                if let Some(child) = child {
                    cx.remove(child, Why::Replaced);
                }
            }
            Request::Leave(why) => {
                self.gone = true;
                return Err(why);
            }
        }
        self.go_on(cx);
        Ok(())
    }

    /// Sends the next queued request, if none is outstanding.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        while self.asked.is_none() && self.stage == Stage::Done {
            let Some(task) = self.tasks.pop_front() else {
                return;
            };
            let retired = self.common.state == State::Expired;
            match task {
                Task::Child(..) | Task::Renew if retired => {}
                Task::Child(policy, replaces) => self.ask_child(policy, replaces, cx),
                Task::Renew => self.ask_renewal(cx),
                Task::Delete(protocol, spi, child) => self.ask_delete(protocol, spi, child, cx),
                Task::Leave(why) => self.ask_leave(why, cx),
                Task::Move => self.ask_move(cx),
                Task::Verify => self.ask_cookie(cx),
                Task::Alive => {
                    let chain = Chain::default();
                    self.ask(exchange::INFORMATIONAL, &chain, Request::Alive, cx);
                }
            }
        }
    }

    fn push_task(&mut self, task: Task) {
        if self.tasks.len() < MAX_QUEUED_REQUESTS {
            self.tasks.push_back(task);
        }
    }

    /// Runs the timers that are due. An error ends the SA.
    pub(crate) fn tick(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        if self.over_at <= cx.now {
            self.gone |= self.common.is_half_open();
            return Err(self.common.end());
        }
        if let Some(mut asked) = self.asked.take() {
            let more = asked.resend.again(&mut self.common, cx);
            self.asked = Some(asked);
            if !more {
                self.gone = true;
                let retired = self.common.state == State::Expired;
                return Err(if retired {
                    Why::Replaced
                } else {
                    Why::Unreachable
                });
            }
        }
        self.prove_again(cx)?;
        if self.renew_at.is_some_and(|at| at <= cx.now) {
            self.renew_at = Some(cx.now + Duration::from_secs(10));
            if !self.tasks.iter().any(|task| matches!(task, Task::Renew)) {
                self.push_task(Task::Renew);
            }
        }
        if self.leave_at.is_some_and(|at| at <= cx.now) {
            self.leave_at = None;
            self.push_task(Task::Leave(Why::Replaced));
        }
        if self.alive_at().is_some_and(|at| at <= cx.now) {
            self.push_task(Task::Alive);
        }
        self.common.keep_alive(cx);
        self.go_on(cx);
        Ok(())
    }

    /// Returns the time of the next liveness check: the peer was silent and no request is outstanding.
    fn alive_at(&self) -> Option<Instant> {
        let (interval, _) = self.common.peer.profile.dpd?;
        let idle = self.asked.is_none() && self.tasks.is_empty() && self.stage == Stage::Done;
        (idle && !interval.is_zero()).then(|| self.common.last_seen + interval)
    }

    /// Returns the time of the next `tick`.
    pub(crate) fn deadline(&self) -> Instant {
        let times = [
            self.asked.as_ref().map(|asked| asked.resend.at),
            self.renew_at,
            self.leave_at,
            self.alive_at(),
            self.common.keepalive_at(),
            self.pending.as_ref().map(|proof| proof.again_at),
        ];
        times.into_iter().flatten().fold(self.over_at, Instant::min)
    }

    /// Negotiates SAs for a policy.
    pub(crate) fn acquire(
        &mut self,
        policy: PolicyId,
        replaces: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        if self.common.state != State::Established {
            self.common.want(policy, replaces);
            return;
        }
        let waits = self.tasks.iter().any(|task| match task {
            Task::Child(one, old) => *one == policy && *old == replaces,
            _ => false,
        });
        let asks = match self.asked.as_ref().map(|asked| &asked.request) {
            Some(Request::Child(wanted)) => wanted.is_for(policy, replaces),
            _ => false,
        };
        if !waits && !asks {
            self.push_task(Task::Child(policy, replaces));
            self.go_on(cx);
        }
    }

    /// Returns true if SAs of a policy are requested or queued.
    pub(crate) fn is_busy_with(&self, policy: PolicyId) -> bool {
        self.unfinished().contains(&policy)
    }

    /// Returns policies whose SAs are requested or queued.
    pub(crate) fn unfinished(&self) -> Vec<PolicyId> {
        let asked = match self.asked.as_ref().map(|asked| &asked.request) {
            Some(Request::Child(wanted) | Request::Auth(Some(wanted))) => Some(wanted.policy_id()),
            _ => None,
        };
        let waiting = self.tasks.iter().filter_map(|task| match task {
            Task::Child(policy, _) => Some(*policy),
            _ => None,
        });
        asked.into_iter().chain(waiting).collect()
    }

    /// Records that the peer is alive.
    pub(crate) const fn heard(&mut self, now: Instant) {
        self.common.last_seen = now;
    }

    /// Marks the IKE SA as established and starts the queued requests.
    fn establish(&mut self, cx: &mut Context<'_>) {
        self.stage = Stage::Done;
        self.begin_life(cx);
        cx.out.push(Action::Established(self.common.id));
        self.say(Level::Info, "peer authorized", cx);
        cx.core.orders.push_back(Order::Established(self.common.id));
        for (policy, replaces) in core::mem::take(&mut self.common.wanted) {
            if cx.core.pairs_of(policy) == 0 {
                self.push_task(Task::Child(policy, replaces));
            }
        }
    }

    /// Sets the times of rekeying and of the end.
    fn begin_life(&mut self, cx: &mut Context<'_>) {
        self.common.state = State::Established;
        self.common.established = Some(cx.now);
        let lifetime = self.common.peer.profile.lifetime;
        let percent = match self.common.side {
            Side::Initiator => 90 - (cx.core.random_u64() % 5) as u32,
            Side::Responder => 95,
        };
        self.renew_at = Some(cx.now + lifetime * percent / 100);
        self.over_at = cx.now + lifetime;
    }

    fn say(&self, level: Level, text: &str, cx: &mut Context<'_>) {
        cx.log(level, format!("{text}: {}", self.common.label()));
    }
}
