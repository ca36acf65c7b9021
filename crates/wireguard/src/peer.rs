//! A peer: its pairs of keys and its timers (white paper, 6).
//!
//! Whoever moves packets looks at them a few times a second. So timers are set by when things were seen to have passed,
//! and are late by that at most.

use core::net::SocketAddr;

use machine::{Duration, Instant};

use crate::cookie::Given;
use crate::key::{Preshared, Public};
use crate::message::{Sum, SumKey};
use crate::noise::{Begun, Time};

/// Messages of a pair after which there is a new one.
const REKEY_AFTER_MESSAGES: u64 = 1 << 60;
/// How old a pair of this end is when there is a new one.
const REKEY_AFTER: Duration = Duration::from_secs(120);
/// How old a pair is when it is not used any more.
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(180);
/// Between two attempts; a little is added, so that two ends do not go on at the same time for ever.
pub(crate) const REKEY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a handshake is tried.
pub(crate) const ATTEMPTS: Duration = Duration::from_secs(90);
/// How long a peer that sends is not answered.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How long a peer may be silent that is sent to.
const SILENCE: Duration = KEEPALIVE.saturating_add(REKEY_TIMEOUT);
/// A peer is told at most so often that this end is there.
const SECOND: Duration = Duration::from_secs(1);

/// A peer, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its public key.
    pub public: Public,
    /// The key that both share beside that.
    pub preshared: Option<Preshared>,
    /// Where it is; none where it says so itself.
    pub endpoint: Option<SocketAddr>,
    /// How often it is told that this end is there.
    pub keepalive: Option<Duration>,
    /// This end does not begin.
    pub responder: bool,
}

/// What passed between this end and a peer, as it is known now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Messages sealed by the pair that packets leave by.
    pub sent: u64,
    /// When the last message left, and when the last one with a packet in it.
    pub last_sent: Option<Instant>,
    /// See `last_sent`.
    pub last_sent_data: Option<Instant>,
    /// When the last message came, and when the last one with a packet in it.
    pub last_received: Option<Instant>,
    /// See `last_received`.
    pub last_received_data: Option<Instant>,
    /// The pairs by which anything came.
    pub used: Vec<u32>,
    /// Where the last message came from, if not from the endpoint.
    pub moved: Option<SocketAddr>,
}

/// A pair of keys that is in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) local: u32,
    pub(crate) is_initiator: bool,
    pub(crate) since: Instant,
}

/// Pairs: the one that packets leave by, the one before that, and one that the peer has not used yet.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) current: Option<Kept>,
    previous: Option<Kept>,
    next: Option<Kept>,
}

impl Pairs {
    /// A new one comes. Gives those that are not used any more.
    pub(crate) fn add(&mut self, pair: Kept) -> Vec<u32> {
        let gone = match pair.is_initiator {
            true => {
                // Both may have begun at once: then the peer sends by the pair that it has not used yet.
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

    /// The peer uses the one that it had not used yet, if that is among these. Gives it, and the one that is not used
    /// any more.
    fn confirm(&mut self, used: &[u32]) -> Option<(u32, Option<u32>)> {
        let next = self.next.take_if(|next| used.contains(&next.local))?;
        let gone = self.previous.take();
        self.previous = self.current.replace(next);
        Some((next.local, gone.map(|pair| pair.local)))
    }

    /// Whether the peer has not used the newest pair, which this side answered with.
    pub(crate) const fn has_unconfirmed(&self) -> bool {
        self.next.is_some()
    }

    /// Forgets those that are too old.
    fn expire(&mut self, now: Instant) -> Vec<u32> {
        let too_old = |pair: &mut Kept| now.saturating_since(pair.since) >= REJECT_AFTER;
        let all = [&mut self.current, &mut self.previous, &mut self.next];
        let gone = all.into_iter().filter_map(|place| place.take_if(too_old));
        gone.map(|pair| pair.local).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Kept> {
        [self.current, self.previous, self.next]
            .into_iter()
            .flatten()
    }

    fn deadline(&self) -> Option<Instant> {
        self.all().map(|pair| pair.since + REJECT_AFTER).min()
    }
}

/// A handshake that this end began, and goes on to try.
#[derive(Debug)]
pub(crate) struct Trying {
    /// The state of the last attempt, with its number; none once it is over.
    pub(crate) attempt: Option<(u32, Begun)>,
    /// When it is given up.
    pub(crate) until: Instant,
    /// When it is tried again.
    pub(crate) again: Instant,
}

/// What is to be done for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A message without a packet is to be sent.
    Keepalive,
    /// A handshake is to begin.
    Handshake,
    /// A handshake is to be tried again.
    Again,
    /// It is given up.
    GiveUp,
    /// A pair is not used any more.
    Remove(u32),
    /// Packets leave by this pair.
    Activate(u32),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) is: Peer,
    pub(crate) sums: SumKey,
    pub(crate) endpoint: Option<SocketAddr>,
    pub(crate) pairs: Pairs,
    pub(crate) trying: Option<Trying>,
    pub(crate) cookie: Option<Given>,
    /// The number and the first sum of the last message of a handshake to it.
    pub(crate) told: Option<(u32, Sum)>,
    /// The time in the last handshake that it began, and when that was.
    pub(crate) greatest: Option<Time>,
    pub(crate) began: Option<Instant>,
    pub(crate) last_handshake: Option<Instant>,
    seen: Observation,
    /// Data came at that time, and nothing left since.
    unanswered: Option<Instant>,
    /// Data left at that time, and nothing came since.
    unheard: Option<Instant>,
    /// When it is told that this end is there, if it is to be.
    greets: Option<Instant>,
}

impl State {
    pub(crate) fn new(is: Peer, now: Instant) -> Self {
        Self {
            sums: SumKey::of(&is.public),
            endpoint: is.endpoint,
            greets: is.keepalive.map(|_| now),
            is,
            pairs: Pairs::default(),
            trying: None,
            cookie: None,
            told: None,
            greatest: None,
            began: None,
            last_handshake: None,
            seen: Observation::default(),
            unanswered: None,
            unheard: None,
        }
    }

    /// Takes over another configuration of the same key.
    pub(crate) fn change(&mut self, is: Peer, now: Instant) {
        if is.endpoint.is_some() && is.endpoint != self.is.endpoint {
            self.endpoint = is.endpoint;
        }
        if is.keepalive != self.is.keepalive {
            self.greets = is.keepalive.map(|_| now);
        }
        self.is = is;
    }

    /// Takes over what passed. Gives what is due now.
    pub(crate) fn observe(&mut self, seen: Observation, now: Instant) -> Vec<Due> {
        let before = core::mem::replace(&mut self.seen, seen);
        let seen = &self.seen;
        let mut due = Vec::new();
        if let Some((local, gone)) = self.pairs.confirm(&seen.used) {
            due.push(Due::Activate(local));
            due.extend(gone.map(Due::Remove));
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
            // Whatever passed told as much.
            self.greets = Some(last + interval);
        }
        if self.wants_another(passed, now) {
            due.push(Due::Handshake);
        }
        due
    }

    /// Whether the pair of this end is to be followed by another one, as something left or came.
    fn wants_another(&self, [left, came]: [bool; 2], now: Instant) -> bool {
        let Some(current) = self.pairs.current else {
            return false;
        };
        let age = now.saturating_since(current.since);
        let is_old = current.is_initiator && age >= REKEY_AFTER;
        // Who only receives begins just before the pair ends (REJECT_AFTER - KEEPALIVE - REKEY_TIMEOUT).
        let is_ending = current.is_initiator && age >= REJECT_AFTER.saturating_sub(SILENCE);
        left && (is_old || self.seen.sent >= REKEY_AFTER_MESSAGES) || came && is_ending
    }

    /// What is due at this time.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Due> {
        let mut due: Vec<_> = { self.pairs.expire(now) }
            .into_iter()
            .map(Due::Remove)
            .collect();
        if let Some(trying) = &self.trying
            && trying.again <= now
        {
            due.push(if trying.until <= now {
                Due::GiveUp
            } else {
                Due::Again
            });
        }
        if self.unheard.is_some_and(|at| at + SILENCE <= now) {
            self.unheard = None;
            due.push(Due::Handshake);
        }
        if self.unanswered.is_some_and(|at| at + KEEPALIVE <= now) {
            self.unanswered = None;
            due.push(Due::Keepalive);
        }
        if self.greets.is_some_and(|at| at <= now) {
            let interval = self.is.keepalive.map(|interval| interval.max(SECOND));
            self.greets = interval.map(|interval| now + interval);
            due.push(Due::Keepalive);
        }
        due
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let after = |at: Option<Instant>, span: Duration| at.map(|at| at + span);
        let all = [
            self.pairs.deadline(),
            self.trying.as_ref().map(|trying| trying.again),
            after(self.unheard, SILENCE),
            after(self.unanswered, KEEPALIVE),
            self.greets,
        ];
        all.into_iter().flatten().min()
    }
}
