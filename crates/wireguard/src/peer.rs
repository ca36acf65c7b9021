//! A peer: its session keys and timers (white paper, 6).
//!
//! The owner reports traffic a few times a second ([`Observation`]), so timers are late by at most that
//! interval.

use core::net::SocketAddr;

use machine::{Duration, Instant};

use crate::cookie::ReceivedCookie;
use crate::key::{Preshared, Public};
use crate::message::{Mac, MacKey};
use crate::noise::{InitiatorState, Time};

/// Sealed messages after which a session is rekeyed.
const REKEY_AFTER_MESSAGES: u64 = 1 << 60;
/// Age after which the initiator rekeys a session.
const REKEY_AFTER: Duration = Duration::from_secs(120);
/// Age after which a session is dropped.
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(180);
/// Interval of handshake attempts; random jitter keeps two ends from colliding repeatedly.
pub(crate) const REKEY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which handshake attempts end.
pub(crate) const ATTEMPTS_TIMEOUT: Duration = Duration::from_secs(90);
/// Delay of a passive keepalive after received data.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without a response to sent data after which a handshake starts.
const SILENCE_TIMEOUT: Duration = KEEPALIVE_TIMEOUT.saturating_add(REKEY_TIMEOUT);
/// Minimum interval of persistent keepalives.
const SECOND: Duration = Duration::from_secs(1);

/// Configuration of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Public key.
    pub public: Public,
    /// Preshared key.
    pub preshared: Option<Preshared>,
    /// Configured endpoint; `None` learns it from the peer.
    pub endpoint: Option<SocketAddr>,
    /// Interval of persistent keepalives (RouterOS: `persistent-keepalive`).
    pub keepalive: Option<Duration>,
    /// True: this side never initiates (RouterOS: `responder`).
    pub responder: bool,
}

/// Total traffic with a peer, as reported by the owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Messages sealed with the current session.
    pub sent: u64,
    /// Time of the last message sent, keepalives included.
    pub last_sent: Option<Instant>,
    /// Time of the last data message sent.
    pub last_sent_data: Option<Instant>,
    /// Time of the last message received, keepalives included.
    pub last_received: Option<Instant>,
    /// Time of the last data message received.
    pub last_received_data: Option<Instant>,
    /// Local indices of sessions under which messages arrived.
    pub used: Vec<u32>,
    /// Source of the last authenticated message, if it differs from the endpoint.
    pub moved: Option<SocketAddr>,
}

/// A session in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPair {
    pub(crate) local: u32,
    pub(crate) is_initiator: bool,
    pub(crate) since: Instant,
}

/// Sessions: current, previous, and the next one that the peer has not confirmed yet.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) current: Option<KeyPair>,
    previous: Option<KeyPair>,
    next: Option<KeyPair>,
}

impl Pairs {
    /// Adds a session. Returns the local indices of dropped ones.
    pub(crate) fn add(&mut self, pair: KeyPair) -> Vec<u32> {
        let gone = match pair.is_initiator {
            true => {
                // Both sides may have initiated at once: then the peer sends under the unconfirmed session.
                let current = self.current.replace(pair);
                match self.next.take() {
                    Some(next) => [self.previous.replace(next), current],
                    None => [core::mem::replace(&mut self.previous, current), None],
                }
            }
            false => [self.next.replace(pair), None],
        };
        gone.into_iter().flatten().map(|pair| pair.local).collect()
    }

    /// Makes the next session current if the peer has used it. Returns its index, and the index of the dropped
    /// session.
    fn confirm(&mut self, used: &[u32]) -> Option<(u32, Option<u32>)> {
        let next = self.next.take_if(|next| used.contains(&next.local))?;
        let gone = self.previous.take();
        self.previous = self.current.replace(next);
        Some((next.local, gone.map(|pair| pair.local)))
    }

    /// Returns true while the peer has not confirmed the session of this side's last response.
    pub(crate) const fn has_unconfirmed(&self) -> bool {
        self.next.is_some()
    }

    /// Drops expired sessions and returns their indices.
    fn expire(&mut self, now: Instant) -> Vec<u32> {
        let too_old = |pair: &mut KeyPair| now.saturating_since(pair.since) >= REJECT_AFTER;
        let all = [&mut self.current, &mut self.previous, &mut self.next];
        let gone = all.into_iter().filter_map(|place| place.take_if(too_old));
        gone.map(|pair| pair.local).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = KeyPair> {
        [self.current, self.previous, self.next]
            .into_iter()
            .flatten()
    }

    fn deadline(&self) -> Option<Instant> {
        self.all().map(|pair| pair.since + REJECT_AFTER).min()
    }
}

/// A handshake that this side initiated.
#[derive(Debug)]
pub(crate) struct HandshakeAttempts {
    /// Index and state of the last attempt; `None` before the first.
    pub(crate) attempt: Option<(u32, InitiatorState)>,
    /// Time to give up.
    pub(crate) until: Instant,
    /// Time of the next attempt.
    pub(crate) again: Instant,
}

/// Work that is due for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerTask {
    /// Send an empty data message.
    Keepalive,
    /// Start a handshake.
    Handshake,
    /// Repeat the handshake initiation.
    Again,
    /// Give up the handshake.
    GiveUp,
    /// Drop a session.
    Remove(u32),
    /// Make a session current.
    Activate(u32),
}

/// Runtime state of a peer.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) is: Peer,
    pub(crate) macs: MacKey,
    pub(crate) endpoint: Option<SocketAddr>,
    pub(crate) pairs: Pairs,
    pub(crate) trying: Option<HandshakeAttempts>,
    pub(crate) cookie: Option<ReceivedCookie>,
    /// Index and MAC1 of the last handshake message to the peer; needed to open a cookie reply.
    pub(crate) last_message: Option<(u32, Mac)>,
    /// Greatest timestamp received in an initiation (replay protection).
    pub(crate) greatest: Option<Time>,
    pub(crate) began: Option<Instant>,
    pub(crate) last_handshake: Option<Instant>,
    seen: Observation,
    /// Time of received data that nothing sent has answered yet.
    unanswered: Option<Instant>,
    /// Time of sent data that nothing received has answered yet.
    unheard: Option<Instant>,
    /// Time of the next persistent keepalive, if enabled.
    greets: Option<Instant>,
}

impl State {
    pub(crate) fn new(is: Peer, now: Instant) -> Self {
        Self {
            macs: MacKey::of(&is.public),
            endpoint: is.endpoint,
            greets: is.keepalive.map(|_| now),
            is,
            pairs: Pairs::default(),
            trying: None,
            cookie: None,
            last_message: None,
            greatest: None,
            began: None,
            last_handshake: None,
            seen: Observation::default(),
            unanswered: None,
            unheard: None,
        }
    }

    /// Applies a new configuration with equal keys.
    pub(crate) fn change(&mut self, is: Peer, now: Instant) {
        if is.endpoint.is_some() && is.endpoint != self.is.endpoint {
            self.endpoint = is.endpoint;
        }
        if is.keepalive != self.is.keepalive {
            self.greets = is.keepalive.map(|_| now);
        }
        self.is = is;
    }

    /// Processes reported traffic. Returns the work that is due now.
    pub(crate) fn observe(&mut self, seen: Observation, now: Instant) -> Vec<PeerTask> {
        let before = core::mem::replace(&mut self.seen, seen);
        let seen = &self.seen;
        let mut due = Vec::new();
        if let Some((local, gone)) = self.pairs.confirm(&seen.used) {
            due.push(PeerTask::Activate(local));
            due.extend(gone.map(PeerTask::Remove));
            self.last_handshake = self.last_handshake.max(Some(now));
        }
        let is_after = |at: Option<Instant>, other: Option<Instant>| at > other;
        if is_after(seen.last_sent, self.unanswered) {
            self.unanswered = None;
        }
        if is_after(seen.last_received, self.unheard) {
            self.unheard = None;
        }
        let has_new = is_after(seen.last_received_data, before.last_received_data);
        if self.unanswered.is_none() && has_new && seen.last_sent < seen.last_received_data {
            self.unanswered = seen.last_received_data;
        }
        let has_new = is_after(seen.last_sent_data, before.last_sent_data);
        if self.unheard.is_none() && has_new && seen.last_received < seen.last_sent_data {
            self.unheard = seen.last_sent_data;
        }
        let passed = [
            is_after(seen.last_sent, before.last_sent),
            is_after(seen.last_received, before.last_received),
        ];
        if passed.contains(&true)
            && let (Some(interval), Some(last)) =
                (self.is.keepalive, seen.last_sent.max(seen.last_received))
        {
            // Any traffic replaces a keepalive.
            self.greets = Some(last + interval);
        }
        if self.wants_another(passed, now) {
            due.push(PeerTask::Handshake);
        }
        due
    }

    /// Returns true if the current session needs rekeying; `left` and `came` tell whether data was sent or
    /// received.
    fn wants_another(&self, [left, came]: [bool; 2], now: Instant) -> bool {
        let Some(current) = self.pairs.current else {
            return false;
        };
        let age = now.saturating_since(current.since);
        let is_old = current.is_initiator && age >= REKEY_AFTER;
        // A pure receiver rekeys shortly before the session ends (REJECT_AFTER - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT).
        let is_ending = current.is_initiator && age >= REJECT_AFTER.saturating_sub(SILENCE_TIMEOUT);
        left && (is_old || self.seen.sent >= REKEY_AFTER_MESSAGES) || came && is_ending
    }

    /// Returns the work whose timers have expired.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<PeerTask> {
        let mut due: Vec<_> = { self.pairs.expire(now) }
            .into_iter()
            .map(PeerTask::Remove)
            .collect();
        if let Some(trying) = &self.trying
            && trying.again <= now
        {
            due.push(if trying.until <= now {
                PeerTask::GiveUp
            } else {
                PeerTask::Again
            });
        }
        if self.unheard.is_some_and(|at| at + SILENCE_TIMEOUT <= now) {
            self.unheard = None;
            due.push(PeerTask::Handshake);
        }
        if self
            .unanswered
            .is_some_and(|at| at + KEEPALIVE_TIMEOUT <= now)
        {
            self.unanswered = None;
            due.push(PeerTask::Keepalive);
        }
        if self.greets.is_some_and(|at| at <= now) {
            let interval = self.is.keepalive.map(|interval| interval.max(SECOND));
            self.greets = interval.map(|interval| now + interval);
            due.push(PeerTask::Keepalive);
        }
        due
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let after = |at: Option<Instant>, span: Duration| at.map(|at| at + span);
        let all = [
            self.pairs.deadline(),
            self.trying.as_ref().map(|trying| trying.again),
            after(self.unheard, SILENCE_TIMEOUT),
            after(self.unanswered, KEEPALIVE_TIMEOUT),
            self.greets,
        ];
        all.into_iter().flatten().min()
    }
}
