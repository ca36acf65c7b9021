//! A WireGuard device: its key, its peers, and the handshakes with them (white paper, 5 and 6).

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant};

use crate::cookie::ReceivedCookie;
use crate::key::{Private, Public};
use crate::limit::Limit;
use crate::message::{self, INITIATION, Macs, Message, RESPONSE};
use crate::message_classifier::MessageClassifier;
use crate::noise::{self, Keys, Time};
use crate::numbers::Numbers;
use crate::peer::{
    ATTEMPTS_TIMEOUT, HandshakeAttempts, KeyPair, Peer, PeerTask, REKEY_TIMEOUT, State,
};
use crate::{Action, Event, Log, LogLevel, Pair, PeerId};

/// Fills a buffer with cryptographically secure random bytes.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// Counters of rejected messages by reason.
pub type Counters = BTreeMap<&'static str, u64>;

/// Minimum interval between log entries about rejected handshakes.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between initiations of a peer.
const INITIATION_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum jitter of the handshake interval, in milliseconds.
const MAX_JITTER_MS: u64 = 334;
/// TAI64N label of 1970-01-01 00:00:00 UTC.
const TAI_EPOCH: u64 = (1 << 62) + 10;
/// Low bits of the nanoseconds that timestamps omit, to hide the load of this host.
const OMITTED_BITS: u64 = (1 << 24) - 1;

/// The device's key with its derived values.
struct LocalKey {
    private: Private,
    public: Public,
    classifier: MessageClassifier,
}

/// Indices of a handshake response.
struct ResponseNumbers {
    sender: u32,
    receiver: u32,
}

/// State of a WireGuard interface, without I/O.
pub struct Device {
    entropy: Entropy,
    own: Option<LocalKey>,
    peers: BTreeMap<PeerId, State>,
    /// Index by public key.
    keys: BTreeMap<Public, PeerId>,
    numbers: Numbers,
    /// Timer queue.
    due: BTreeSet<(Instant, PeerId)>,
    /// Secret of the cookies.
    secret: [u8; 32],
    limit: Limit,
    /// Wall-clock time in nanoseconds at an instant.
    clock: (Instant, u64),
    counters: Counters,
    /// Reason for the rejection of the last message.
    refusal: Option<&'static str>,
    /// Time of the last log entry about a rejected handshake: anybody can replay one.
    logged: Option<Instant>,
}

impl core::fmt::Debug for Device {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Device")
            .field("peers", &self.keys)
            .finish_non_exhaustive()
    }
}

impl Device {
    /// Creates a device without key and peers. `unix_nanos` is the wall-clock time at `now` in nanoseconds
    /// since 1970; peers reject initiations whose timestamp is not greater than the last (white paper, 5.1).
    pub fn new(mut entropy: Entropy, unix_nanos: u64, now: Instant) -> Self {
        let mut secret = [0; 32];
        entropy(&mut secret);
        Self {
            entropy,
            own: None,
            peers: BTreeMap::new(),
            keys: BTreeMap::new(),
            numbers: Numbers::default(),
            due: BTreeSet::new(),
            secret,
            limit: Limit::default(),
            clock: (now, unix_nanos),
            counters: Counters::new(),
            refusal: None,
            logged: None,
        }
    }

    /// Returns the public key; `None` without a private key.
    pub fn public(&self) -> Option<Public> {
        self.own.as_ref().map(|own| own.public)
    }

    /// Returns the classifier for the workers; `None` without a private key.
    pub fn classifier(&self) -> Option<&MessageClassifier> {
        self.own.as_ref().map(|own| &own.classifier)
    }

    /// Returns the time of the last completed handshake with a peer.
    pub fn last_handshake(&self, peer: PeerId) -> Option<Instant> {
        self.peers.get(&peer)?.last_handshake
    }

    /// Returns the counters of rejected messages.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes the reason for the rejection of the last message.
    pub const fn take_refusal(&mut self) -> Option<&'static str> {
        self.refusal.take()
    }

    /// Processes an event.
    pub fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Clock(nanos) => {
                if nanos > self.time_of_day(now) {
                    self.clock = (now, nanos);
                }
            }
            Event::Private(private) => self.set_private(private, out),
            Event::Peer(id, Some(peer)) => self.put(id, peer, now, out),
            Event::Peer(id, None) => self.remove(id, out),
            Event::Datagram { from, bytes } => self.receive(from, bytes, now, out),
            Event::Wanted(id) => self.change(id, out, |device, out| {
                device.begin(id, now, out);
            }),
            Event::Observed(id, mut seen) => self.change(id, out, |device, out| {
                let moved = seen.moved.take();
                let Some(peer) = device.peers.get_mut(&id) else {
                    return;
                };
                if let Some(to) = moved {
                    peer.endpoint = Some(to);
                    out.push(Action::Endpoint { peer: id, to });
                }
                let due = peer.observe(seen, now);
                device.do_all(id, due, now, out);
            }),
        }
    }

    /// Runs the timers that are due.
    pub fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.change(id, out, |device, out| {
                let Some(peer) = device.peers.get_mut(&id) else {
                    return;
                };
                let due = peer.tick(now);
                device.do_all(id, due, now, out);
            });
        }
    }

    /// Returns the time of the next `tick`.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Changes a peer and updates its timer.
    fn change(
        &mut self,
        id: PeerId,
        out: &mut Vec<Action>,
        change: impl FnOnce(&mut Self, &mut Vec<Action>),
    ) {
        let deadline = |device: &Self| device.peers.get(&id).and_then(State::deadline);
        if let Some(at) = deadline(self) {
            self.due.remove(&(at, id));
        }
        change(self, out);
        if let Some(at) = deadline(self) {
            self.due.insert((at, id));
        }
    }

    fn set_private(&mut self, private: Option<Private>, out: &mut Vec<Action>) {
        if self.own.as_ref().map(|own| &own.private) == private.as_ref() {
            return;
        }
        let (secret, table) = (self.secret, self.numbers.table());
        self.own = private.map(|private| {
            let public = private.public();
            LocalKey {
                classifier: MessageClassifier::new(public, secret, table),
                public,
                private,
            }
        });
        for id in self.peers.keys().copied().collect::<Vec<_>>() {
            self.change(id, out, |device, out| device.forget(id, out));
        }
    }

    /// Ends the handshakes and pairs of a peer.
    fn forget(&mut self, id: PeerId, out: &mut Vec<Action>) {
        if let Some(peer) = self.peers.get_mut(&id) {
            let pairs = core::mem::take(&mut peer.pairs);
            out.extend(pairs.all().map(|pair| Action::Remove { local: pair.local }));
            let attempt = peer.trying.take().and_then(|trying| trying.attempt);
            let attempt = attempt.map(|(number, _)| number);
            for number in pairs.all().map(|pair| pair.local).chain(attempt) {
                self.numbers.remove(number);
            }
            (peer.cookie, peer.last_message) = (None, None);
        }
    }

    fn put(&mut self, id: PeerId, is: Peer, now: Instant, out: &mut Vec<Action>) {
        let is_same =
            |peer: &State| peer.is.public == is.public && peer.is.preshared == is.preshared;
        if !self.peers.get(&id).is_some_and(is_same) {
            self.remove(id, out);
            if self.keys.contains_key(&is.public) {
                return say(
                    out,
                    LogLevel::Error,
                    format!("two peers have the key {}", is.public),
                );
            }
            self.keys.insert(is.public, id);
            self.peers.insert(id, State::new(is.clone(), now));
            if let Some(at) = self.peers.get(&id).and_then(State::deadline) {
                self.due.insert((at, id));
            }
        }
        self.change(id, out, |device, out| {
            let Some(peer) = device.peers.get_mut(&id) else {
                return;
            };
            peer.change(is, now);
            out.extend(peer.endpoint.map(|to| Action::Endpoint { peer: id, to }));
        });
    }

    fn remove(&mut self, id: PeerId, out: &mut Vec<Action>) {
        self.change(id, out, |device, out| {
            device.forget(id, out);
            if let Some(peer) = device.peers.remove(&id) {
                device.keys.remove(&peer.is.public);
            }
        });
    }

    fn do_all(&mut self, id: PeerId, due: Vec<PeerTask>, now: Instant, out: &mut Vec<Action>) {
        for due in due {
            match due {
                PeerTask::Keepalive => match self.peers.get(&id).map(|peer| peer.pairs.current) {
                    Some(Some(_)) => out.push(Action::Keepalive(id)),
                    _ => self.begin(id, now, out),
                },
                PeerTask::Handshake => self.begin(id, now, out),
                PeerTask::Again => self.attempt(id, now, out),
                PeerTask::GiveUp => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.trying = None;
                        let text = format!("{}: no answer to handshakes", peer.is.public);
                        say(out, LogLevel::Debug, text);
                    }
                    out.push(Action::GaveUp(id));
                }
                PeerTask::Remove(local) => {
                    self.numbers.remove(local);
                    out.push(Action::Remove { local });
                }
                PeerTask::Activate(local) => out.push(Action::Activate { local }),
            }
        }
    }

    /// Starts a handshake unless one is running.
    fn begin(&mut self, id: PeerId, now: Instant, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        if peer.trying.is_some() || peer.is.responder {
            return;
        }
        if peer.endpoint.is_none() || self.own.is_none() {
            return out.push(Action::GaveUp(id));
        }
        peer.trying = Some(HandshakeAttempts {
            attempt: None,
            until: now + ATTEMPTS_TIMEOUT,
            again: now,
        });
        self.attempt(id, now, out);
    }

    /// Sends an initiation.
    fn attempt(&mut self, id: PeerId, now: Instant, out: &mut Vec<Action>) {
        let (number, time) = (self.number(), self.time(now));
        let jitter = Duration::from_millis(u64::from(self.number()) % MAX_JITTER_MS);
        let (Some(own), Some(peer)) = (&self.own, self.peers.get_mut(&id)) else {
            return;
        };
        let (Some(trying), Some(to)) = (&mut peer.trying, peer.endpoint) else {
            return;
        };
        trying.again = now + REKEY_TIMEOUT + jitter;
        if let Some((before, _)) = trying.attempt.take() {
            self.numbers.remove(before);
        }
        let preshared = peer.is.preshared.as_ref();
        let begun = noise::begin(&own.private, &peer.is.public, preshared, time);
        let Some((begun, noise)) = begun else {
            return;
        };
        trying.attempt = Some((number, begun));
        let cookie = peer.cookie.as_ref().and_then(|given| given.at(now));
        let (bytes, first) = message::write(INITIATION, &[number], &noise, &peer.macs, cookie);
        peer.last_message = Some((number, first));
        self.numbers.insert(number, id);
        out.push(Action::Send { to, bytes });
    }

    /// Processes a handshake message.
    fn receive(&mut self, from: SocketAddr, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        let heard = match Message::read(bytes) {
            None => Err("malformed"),
            Some(Message::Initiation {
                sender,
                noise,
                macs,
            }) => self
                .admit(from, sender, &macs, now, out)
                .and_then(|()| self.answer(from, sender, noise, now, out)),
            Some(Message::Response {
                sender,
                receiver,
                noise,
                macs,
            }) => self.admit(from, sender, &macs, now, out).and_then(|()| {
                let numbers = ResponseNumbers { sender, receiver };
                self.end(from, numbers, noise, now, out)
            }),
            Some(Message::Cookie {
                receiver,
                nonce,
                sealed,
            }) => self.take_cookie(receiver, nonce, sealed, now),
        };
        if let Err(name) = heard {
            *self.counters.entry(name).or_default() += 1;
            self.refusal = Some(name);
        }
    }

    /// Logs a rejected handshake of a peer, at most once a second.
    fn say_refused(&mut self, id: PeerId, why: &str, now: Instant, out: &mut Vec<Action>) {
        let is_due = self
            .logged
            .is_none_or(|at| now.saturating_since(at) >= LOG_INTERVAL);
        if let Some(peer) = self.peers.get(&id).filter(|_| is_due) {
            self.logged = Some(now);
            say(out, LogLevel::Info, format!("{}: {why}", peer.is.public));
        }
    }

    /// Checks MAC1; under load also MAC2 and the rate of the sender, and replies with a cookie.
    fn admit(
        &mut self,
        from: SocketAddr,
        sender: u32,
        macs: &Macs<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), &'static str> {
        let own = self.own.as_ref().ok_or("no-key")?;
        if !own.classifier.is_for(macs) {
            return Err("wrong-sum");
        }
        if !self.limit.is_flood(now) {
            return Ok(());
        }
        if own.classifier.is_proved(macs, from, now) {
            return match self.limit.may(from, now) {
                true => Ok(()),
                false => Err("too-many"),
            };
        }
        let given = own.classifier.cookie_reply(sender, macs, from, now);
        let given = given.map(|bytes| bytes.to_vec());
        out.extend(given.map(|bytes| Action::Send { to: from, bytes }));
        Err("cookie-asked")
    }

    /// Processes an initiation and sends the response.
    fn answer(
        &mut self,
        from: SocketAddr,
        sender: u32,
        noise: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), &'static str> {
        let own = self.own.as_ref().ok_or("no-key")?;
        let ephemeral = noise.first_chunk().copied().map(Public);
        if ephemeral.is_none_or(|key| key.is_degenerate()) {
            return Err("degenerate-key");
        }
        let asked = noise::read(&own.private, noise).ok_or("wrong-key")?;
        let id = self.keys.get(&asked.peer).copied().ok_or("unknown-peer")?;
        let peer = self.peers.get(&id).ok_or("unknown-peer")?;
        if peer.greatest.is_some_and(|greatest| asked.time <= greatest) {
            let why = format!("a handshake from {from} is a replay, or the peer's clock went back");
            self.say_refused(id, &why, now, out);
            return Err("replayed");
        }
        if peer
            .began
            .is_some_and(|began| now.saturating_since(began) < INITIATION_INTERVAL)
        {
            return Err("too-soon");
        }
        // The peer initiates again without having used the session of the last response.
        let unconfirmed = peer.pairs.has_unconfirmed();
        let time = asked.time;
        let answered = asked.answer(peer.is.preshared.as_ref());
        let (noise, keys) = answered.ok_or("wrong-key")?;
        let number = self.number();
        let kept = KeyPair {
            local: number,
            is_initiator: false,
            since: now,
        };
        self.change(id, out, |device, out| {
            let Some(peer) = device.peers.get_mut(&id) else {
                return;
            };
            (peer.greatest, peer.began) = (Some(time), Some(now));
            let cookie = peer.cookie.as_ref().and_then(|given| given.at(now));
            let numbers = [number, sender];
            let (bytes, first) = message::write(RESPONSE, &numbers, &noise, &peer.macs, cookie);
            peer.last_message = Some((number, first));
            device.install(id, from, sender, kept, keys, out);
            out.push(Action::Send { to: from, bytes });
        });
        if unconfirmed {
            *self.counters.entry("unconfirmed").or_default() += 1;
            let why = format!(
                "{from} does not confirm handshakes: another preshared key, or answers are lost"
            );
            self.say_refused(id, &why, now, out);
        }
        Ok(())
    }

    /// Processes a response and completes the handshake.
    fn end(
        &mut self,
        from: SocketAddr,
        numbers: ResponseNumbers,
        noise: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), &'static str> {
        let ResponseNumbers { sender, receiver } = numbers;
        let id = self.numbers.peer(receiver).ok_or("unknown-number")?;
        let ephemeral = noise.first_chunk().copied().map(Public);
        if ephemeral.is_none_or(|key| key.is_degenerate()) {
            return Err("degenerate-key");
        }
        let mut ended = Err("unknown-number");
        self.change(id, out, |device, out| {
            let Some(peer) = device.peers.get_mut(&id) else {
                return;
            };
            let Some(trying) = &mut peer.trying else {
                return;
            };
            let attempt = trying.attempt.as_mut();
            let Some((_, begun)) = attempt.filter(|(number, _)| *number == receiver) else {
                return;
            };
            let Some(keys) = begun.end(noise) else {
                ended = Err("wrong-preshared-key");
                return;
            };
            (peer.trying, peer.last_handshake) = (None, Some(now));
            let kept = KeyPair {
                local: receiver,
                is_initiator: true,
                since: now,
            };
            device.install(id, from, sender, kept, keys, out);
            ended = Ok(());
        });
        if ended == Err("wrong-preshared-key") {
            let why = format!("the answer of {from} does not open: another preshared key");
            self.say_refused(id, &why, now, out);
        }
        ended
    }

    /// Installs the keys of a session.
    fn install(
        &mut self,
        id: PeerId,
        from: SocketAddr,
        remote: u32,
        kept: KeyPair,
        keys: Keys,
        out: &mut Vec<Action>,
    ) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        self.numbers.insert(kept.local, id);
        for local in peer.pairs.add(kept) {
            self.numbers.remove(local);
            out.push(Action::Remove { local });
        }
        if peer.endpoint != Some(from) {
            peer.endpoint = Some(from);
            out.push(Action::Endpoint { peer: id, to: from });
        }
        say(
            out,
            LogLevel::Debug,
            format!("{}: handshake with {from}", peer.is.public),
        );
        out.push(Action::Install(Box::new(Pair {
            peer: id,
            local: kept.local,
            remote,
            send: keys.send,
            receive: keys.receive,
            is_initiator: kept.is_initiator,
        })));
    }

    fn take_cookie(
        &mut self,
        receiver: u32,
        nonce: &[u8; 24],
        sealed: &[u8; 32],
        now: Instant,
    ) -> Result<(), &'static str> {
        let id = self.numbers.peer(receiver).ok_or("unknown-number")?;
        let peer = self.peers.get_mut(&id).ok_or("unknown-number")?;
        let last_message = peer.last_message.filter(|(number, _)| *number == receiver);
        let (_, first) = last_message.ok_or("unknown-number")?;
        let given = ReceivedCookie::open(&peer.is.public, &first, nonce, sealed, now);
        peer.cookie = Some(given.ok_or("wrong-cookie")?);
        Ok(())
    }

    /// Returns a random, unused index.
    fn number(&mut self) -> u32 {
        loop {
            let mut bytes = [0; 4];
            (self.entropy)(&mut bytes);
            let number = u32::from_le_bytes(bytes);
            if self.numbers.peer(number).is_none() {
                return number;
            }
        }
    }

    /// Returns the wall-clock time in nanoseconds since 1970.
    fn time_of_day(&self, now: Instant) -> u64 {
        let (at, nanos) = self.clock;
        let passed = now.saturating_since(at).as_nanos();
        nanos.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// Returns the timestamp for an initiation.
    fn time(&self, now: Instant) -> Time {
        let nanos = self.time_of_day(now);
        let (seconds, nanos) = (
            nanos / 1_000_000_000,
            (nanos % 1_000_000_000) & !OMITTED_BITS,
        );
        let mut time = Time::default();
        time[..8].copy_from_slice(&(TAI_EPOCH + seconds).to_be_bytes());
        time[8..].copy_from_slice(&(nanos as u32).to_be_bytes());
        time
    }
}

fn say(out: &mut Vec<Action>, level: LogLevel, text: String) {
    out.push(Action::Log(Log { level, text }));
}
