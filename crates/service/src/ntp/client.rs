//! NTP client: polls servers and corrects the time (RFC 5905, 9 to 11 and 13).

use core::net::IpAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use machine::{Instant, Machine, Rng};
use wire::ntp::{Malformed, Mode, Packet, Repr, Short, Timestamp, UNSYNCHRONIZED};

use super::discipline::STEP;
use super::filter::{Filter, Filtered, Sample};
use super::select::{Candidate, Selected, select};
use super::{Discipline, Key, PRECISION, SECOND, Synchronized, Update, wander};

/// Maximum number of servers.
const PEERS: usize = 64;
/// Number of requests in a burst, and their interval (RFC 5905, 13.3: two seconds).
const BURST: u8 = 6;
const BURST_SPACE: Duration = Duration::from_secs(2);
/// Maximum root distance of a usable server (RFC 5905, figure 5: MAXDIST).
const DISTANCE_MOST: i64 = 3 * SECOND / 2;
/// Minimum distance (MINDISP).
const DISTANCE_LEAST: i64 = SECOND / 200;
/// Minimum jump of the raw time that counts as a clock change.
const SET: i64 = SECOND / 20;
/// Number of good or bad measurements that changes the poll interval (LIMIT).
const LIMIT: i32 = 30;

/// Configured server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Id, assigned by the owner.
    pub id: u64,
    /// Address, once known.
    pub address: Option<IpAddr>,
    /// Minimum poll interval as a power of two seconds, 3 to 17.
    pub min_poll: u8,
    /// Maximum poll interval.
    pub max_poll: u8,
    /// Start with a burst of requests (`iburst`).
    pub burst: bool,
    /// Key that must sign the answers.
    pub key: Option<Key>,
}

/// Events of a [`Client`].
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The raw time in nanoseconds since 1970.
    Clock(i64),
    /// Complete list of servers. Unchanged servers keep their state.
    Configure(Vec<Peer>),
    /// A datagram arrived from port 123 of this address.
    Received {
        /// Source address.
        from: IpAddr,
        /// Payload.
        bytes: &'a [u8],
    },
}

/// Actions that the owner of a [`Client`] carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a request to port 123.
    Send {
        /// Destination.
        to: IpAddr,
        /// Payload.
        bytes: Vec<u8>,
    },
    /// The time is now synchronized to this server.
    Synchronized(IpAddr),
    /// No server is selected any more.
    Lost,
    /// The clock was stepped by this number of nanoseconds.
    Stepped(i64),
    /// Kiss-o'-death: a server asks for fewer requests or none (RFC 5905, 7.4).
    Kissed(IpAddr, [u8; 4]),
    /// The received datagram was ignored.
    Discarded(Fault),
}

/// Reason why a datagram is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Malformed.
    Malformed(Malformed),
    /// Unexpected sender, wrong request, or duplicate.
    Unasked,
    /// Not signed with the server's key.
    Unsigned,
    /// The server is unsynchronized, or its values are impossible.
    Unfit,
}

/// State of the synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Selected server.
    pub server: IpAddr,
    /// Stratum of the server.
    pub stratum: u8,
    /// Offset at the last measurement, in nanoseconds.
    pub offset: i64,
    /// Jitter in nanoseconds.
    pub jitter: i64,
}

/// State of a server, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Stratum; 16 if unsynchronized.
    pub stratum: u8,
    /// Reachability register: the last eight polls, newest in the lowest bit.
    pub reach: u8,
    /// Poll interval as a power of two seconds.
    pub poll: u8,
    /// Offset, delay and jitter of the best sample, in nanoseconds.
    pub measured: Option<(i64, i64, i64)>,
    /// The server denied access.
    pub denied: bool,
}

/// NTP client.
#[derive(Debug)]
pub struct Client {
    peers: BTreeMap<u64, Association>,
    discipline: Discipline,
    status: Option<Status>,
    /// Root distance of the selected server.
    root: Root,
    /// Last raw time, with the monotonic time of its arrival.
    raw: (i64, Instant),
    /// Count of good and bad measurements (jiggle counter).
    jiggle: i32,
    /// Time of the last used sample.
    used: i64,
    rng: Rng,
    /// Secret for cookies, so that a server cannot guess the cookies sent to other servers.
    secret: [u8; 16],
    asked: u64,
}

/// Distance of a server to its reference clock.
#[derive(Clone, Copy, Debug, Default)]
struct Root {
    delay: i64,
    dispersion: i64,
    at: i64,
    leap: u8,
}

#[derive(Debug)]
struct Association {
    peer: Peer,
    filter: Filter,
    reach: u8,
    poll: u8,
    /// Requests left in the burst.
    burst: u8,
    next: Option<Instant>,
    /// Cookie of the pending request, and its raw time.
    asked: Option<(u64, i64)>,
    stratum: u8,
    leap: u8,
    root_delay: i64,
    root_dispersion: i64,
    denied: bool,
}

impl Machine for Client {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = ();

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Clock(raw) => self.set_raw(raw, now),
            Event::Configure(peers) => self.configure(peers, now, out),
            Event::Received { from, bytes } => {
                if let Err(fault) = self.receive(from, bytes, now, out) {
                    out.push(Action::Discarded(fault));
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let raw = self.raw_at(now);
        let due = |one: &Association| one.next.is_some_and(|at| at <= now);
        let due: Vec<_> = self
            .peers
            .iter()
            .filter(|(_, one)| due(one))
            .map(|(id, _)| *id)
            .collect();
        let mut silent = false;
        for id in due {
            if let Some(one) = self.peers.get_mut(&id) {
                self.asked += 1;
                let cookie = cookie(&self.secret, self.asked);
                one.ask(raw, cookie, now, &mut self.rng, out);
                silent |= one.reach == 0;
            }
        }
        if silent && self.status.is_some() {
            self.choose(raw, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, ())> {
        let next = self.peers.values().filter_map(|one| one.next).min();
        next.map(|at| (at, ()))
    }
}

impl Client {
    /// Creates a client without servers. `rng` must be unpredictable, because its values authenticate answers. `raw`
    /// is the raw time at `now`, in nanoseconds since 1970.
    pub fn new(rng: impl Into<Rng>, raw: i64, now: Instant) -> Self {
        let mut rng = rng.into();
        let mut secret = [0; 16];
        rng.fill(&mut secret);
        Self {
            secret,
            asked: 0,
            rng,
            peers: BTreeMap::new(),
            discipline: Discipline::default(),
            status: None,
            root: Root::default(),
            raw: (raw, now),
            jiggle: 0,
            used: i64::MIN,
        }
    }

    /// Current clock correction.
    pub const fn discipline(&self) -> &Discipline {
        &self.discipline
    }

    /// State of the synchronization; `None` without a selected server.
    pub const fn status(&self) -> Option<Status> {
        self.status
    }

    /// State of a server.
    pub fn peer(&self, id: u64) -> Option<PeerStatus> {
        let one = self.peers.get(&id)?;
        let (raw, _) = self.raw;
        let added = self.discipline.added(raw);
        let measured = one.filter.filtered(raw).map(|found| {
            let Sample { offset, delay, .. } = found.best;
            (offset - added, delay, found.jitter)
        });
        Some(PeerStatus {
            stratum: one.stratum,
            reach: one.reach,
            poll: one.poll,
            measured,
            denied: one.denied,
        })
    }

    /// Time quality for answers of the NTP server; `None` if unsynchronized.
    pub fn synchronized(&self, now: Instant) -> Option<Synchronized> {
        let (status, raw) = (self.status?, self.raw_at(now));
        let age = wander(raw.saturating_sub(self.root.at));
        Some(Synchronized {
            leap: self.root.leap,
            stratum: status.stratum.saturating_add(1).min(UNSYNCHRONIZED),
            root_delay: Short::from_nanos(self.root.delay),
            root_dispersion: Short::from_nanos(self.root.dispersion.saturating_add(age)),
            reference_id: reference_id(status.server),
            reference: Timestamp::from_unix_nanos(self.discipline.time(self.root.at)),
        })
    }

    /// Resets the frequency correction.
    pub fn reset_frequency(&mut self, now: Instant) {
        self.discipline.reset_frequency(self.raw_at(now));
    }

    /// Current time in nanoseconds since 1970.
    pub fn time(&self, now: Instant) -> i64 {
        self.discipline.time(self.raw_at(now))
    }

    fn raw_at(&self, now: Instant) -> i64 {
        let (raw, at) = self.raw;
        raw.saturating_add(nanos(now - at))
    }

    /// Updates the raw time. A jump of the raw time does not change the corrected time while it is synchronized.
    fn set_raw(&mut self, raw: i64, now: Instant) {
        let by = raw.saturating_sub(self.raw_at(now));
        if by.saturating_abs() >= SET && self.status.is_some() {
            self.discipline.raw_was_set(by);
            for one in self.peers.values_mut() {
                one.filter.raw_was_set(by);
                one.asked = one
                    .asked
                    .map(|(cookie, at)| (cookie, at.saturating_add(by)));
            }
            self.used = self.used.saturating_add(by);
            self.root.at = self.root.at.saturating_add(by);
        }
        self.raw = (raw, now);
    }

    fn configure(&mut self, peers: Vec<Peer>, now: Instant, out: &mut Vec<Action>) {
        let mut before = core::mem::take(&mut self.peers);
        for peer in peers.into_iter().take(PEERS) {
            let kept = before.remove(&peer.id).filter(|one| one.peer == peer);
            let one = kept.unwrap_or_else(|| Association::new(peer, now));
            self.peers.insert(one.peer.id, one);
        }
        if self.status.is_some() {
            self.choose(self.raw_at(now), out);
        }
    }

    fn receive(
        &mut self,
        from: IpAddr,
        bytes: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let packet = Packet::parse(bytes).map_err(Fault::Malformed)?;
        let raw = self.raw_at(now);
        let origin = packet.repr.origin.0;
        let is_its = |one: &&mut Association| {
            one.peer.address == Some(from) && one.asked.is_some_and(|(cookie, _)| cookie == origin)
        };
        let mut all = self.peers.values_mut();
        let one = all.find(is_its).ok_or(Fault::Unasked)?;
        if packet.repr.mode != Mode::SERVER {
            return Err(Fault::Unasked);
        }
        if let Some(key) = &one.peer.key
            && !key.proves(packet.signed, packet.mac)
        {
            return Err(Fault::Unsigned);
        }
        let Some((_, asked)) = one.asked.take() else {
            return Err(Fault::Unasked);
        };
        if packet.repr.stratum == 0 {
            one.kiss(packet.repr.reference_id, now);
            out.push(Action::Kissed(from, packet.repr.reference_id));
            return Ok(());
        }
        one.learn(&packet.repr, asked, raw)?;
        self.choose(raw, out);
        Ok(())
    }

    /// Selects the servers to use, and corrects the clock.
    fn choose(&mut self, raw: i64, out: &mut Vec<Action>) {
        let seen: Vec<(u64, &Association, Filtered)> = { self.peers.iter() }
            .filter_map(|(id, one)| Some((*id, one, one.fit(raw)?)))
            .collect();
        let candidates: Vec<_> = { seen.iter().enumerate() }
            .map(|(at, (_, one, found))| one.candidate(at, found, raw))
            .collect();
        let Some(selected) = select(&candidates) else {
            if self.status.take().is_some() {
                out.push(Action::Lost);
            }
            return;
        };
        let Some((id, one, found)) = seen.get(selected.id) else {
            return;
        };
        let (id, found) = (*id, *found);
        let Some(server) = one.peer.address else {
            return;
        };
        self.root = Root {
            delay: one.root_delay + found.best.delay,
            dispersion: one.root_dispersion + found.dispersion + selected.jitter,
            at: raw,
            leap: one.leap,
        };
        if self.status.map(|status| status.server) != Some(server) {
            out.push(Action::Synchronized(server));
        }
        let mut status = Status {
            server,
            stratum: one.stratum,
            offset: self.status.map_or(0, |status| status.offset),
            jitter: selected.jitter,
        };
        // Each sample is used once (RFC 5905, 11.1).
        if found.best.at > self.used {
            self.used = found.best.at;
            status.offset = self.correct(&selected, raw, out);
            self.tune(id, &status);
        }
        self.status = Some(status);
    }

    /// Corrects the clock; returns the offset.
    fn correct(&mut self, selected: &Selected, raw: i64, out: &mut Vec<Action>) -> i64 {
        let offset = selected.offset.saturating_sub(self.discipline.added(raw));
        if self.discipline.update(offset, raw) == Update::Stepped {
            out.push(Action::Stepped(offset));
        }
        offset
    }

    /// Adapts the poll interval to the quality of the clock (RFC 5905, 13).
    fn tune(&mut self, id: u64, status: &Status) {
        let Some(one) = self.peers.get(&id) else {
            return;
        };
        let good = status.offset.saturating_abs() < (4 * status.jitter).max(SECOND / 1_000);
        let weight = i32::from(one.poll);
        self.jiggle += if good { weight } else { -2 * weight };
        let by: i8 = match self.jiggle {
            more if more > LIMIT => 1,
            less if less < -LIMIT || status.offset.saturating_abs() >= STEP => -1,
            _ => return,
        };
        self.jiggle = 0;
        for one in self.peers.values_mut() {
            let poll = one.poll.saturating_add_signed(by);
            one.poll = poll.clamp(one.peer.min_poll, one.longest());
        }
    }
}

impl Association {
    fn new(peer: Peer, now: Instant) -> Self {
        Self {
            filter: Filter::default(),
            reach: 0,
            poll: peer.min_poll,
            burst: if peer.burst { BURST } else { 1 },
            next: peer.address.map(|_| now),
            asked: None,
            stratum: UNSYNCHRONIZED,
            leap: 3,
            root_delay: 0,
            root_dispersion: 0,
            denied: false,
            peer,
        }
    }

    fn longest(&self) -> u8 {
        self.peer.max_poll.max(self.peer.min_poll)
    }

    /// Sends a request.
    fn ask(&mut self, raw: i64, cookie: u64, now: Instant, rng: &mut Rng, out: &mut Vec<Action>) {
        let Some(to) = self.peer.address.filter(|_| !self.denied) else {
            self.next = None;
            return;
        };
        let begins = self.burst == 0;
        if begins {
            let again = self.reach.trailing_zeros() >= 3 && self.peer.burst;
            self.burst = if again { BURST } else { 1 };
        }
        // The requests of a burst count as one poll.
        if begins || (self.reach == 0 && !self.peer.burst) {
            self.reach <<= 1;
        }
        if self.reach == 0 {
            self.filter.clear();
            self.stratum = UNSYNCHRONIZED;
        }
        self.burst -= 1;
        let wait = match self.burst {
            0 => {
                let interval = Duration::from_secs(1 << self.poll.min(17));
                // Random reduction, so that clients do not poll in lockstep.
                let most = u64::try_from(interval.as_nanos() / 16).unwrap_or(0);
                interval - Duration::from_nanos(rng.below(most))
            }
            _ => BURST_SPACE,
        };
        self.next = Some(now + wait);
        self.asked = Some((cookie, raw));
        let question = Repr::question(cookie).to_bytes();
        let bytes = match &self.peer.key {
            Some(key) => key.sign(&question),
            None => question.to_vec(),
        };
        out.push(Action::Send { to, bytes });
    }

    /// Handles a kiss-o'-death (RFC 5905, 7.4).
    fn kiss(&mut self, code: [u8; 4], now: Instant) {
        match &code {
            b"DENY" | b"RSTR" => (self.denied, self.next, self.reach) = (true, None, 0),
            b"RATE" => {
                self.poll = (self.poll + 1).clamp(10, 17);
                self.burst = 0;
                self.next = Some(now + Duration::from_secs(1 << self.poll));
            }
            _ => {}
        }
        if self.denied {
            self.filter.clear();
        }
    }

    /// Takes a sample from an answer; `asked` and `came` are the raw times of request and answer.
    fn learn(&mut self, said: &Repr, asked: i64, came: i64) -> Result<(), Fault> {
        let root = said.root_delay.to_nanos() / 2 + said.root_dispersion.to_nanos();
        let fit = said.leap != 3
            && said.stratum < UNSYNCHRONIZED
            && said.receive.is_known()
            && said.transmit.is_known()
            && root < 16 * SECOND;
        let there = said.transmit.nanos_since(said.receive);
        let round = came.saturating_sub(asked);
        if !fit || there < 0 || round < 0 || there > round.saturating_add(SECOND) {
            return Err(Fault::Unfit);
        }
        let received = said.receive.nanos_since(Timestamp::from_unix_nanos(asked));
        let sent = said.transmit.nanos_since(Timestamp::from_unix_nanos(came));
        let precision = SECOND >> said.precision.unsigned_abs().min(30);
        self.filter.add(Sample {
            offset: received.midpoint(sent),
            delay: (round - there).max(SECOND >> PRECISION.unsigned_abs()),
            dispersion: precision + wander(round),
            at: came,
        });
        self.reach |= 1;
        (self.stratum, self.leap) = (said.stratum, said.leap);
        self.root_delay = said.root_delay.to_nanos();
        self.root_dispersion = said.root_dispersion.to_nanos();
        Ok(())
    }

    /// Filtered sample of a server that is fit for selection (RFC 5905, 11.1: fit).
    fn fit(&self, raw: i64) -> Option<Filtered> {
        let found = self.filter.filtered(raw)?;
        let may = self.reach != 0 && self.leap != 3 && self.stratum < UNSYNCHRONIZED;
        let most = DISTANCE_MOST + wander(SECOND << self.poll.min(17));
        (may && self.distance(&found) < most).then_some(found)
    }

    /// Root distance (RFC 5905, A.5.5.2).
    fn distance(&self, found: &Filtered) -> i64 {
        let delay = (self.root_delay + found.best.delay).max(DISTANCE_LEAST) / 2;
        delay + self.root_dispersion + found.dispersion + found.jitter
    }

    fn candidate(&self, id: usize, found: &Filtered, raw: i64) -> Candidate {
        Candidate {
            id,
            stratum: self.stratum,
            offset: found.best.offset,
            distance: self.distance(found) + wander(raw.saturating_sub(found.best.at)),
            jitter: found.jitter.max(SECOND >> PRECISION.unsigned_abs()),
        }
    }
}

/// Reference id of a server: its IPv4 address, or the start of the MD5 of its IPv6 address (RFC 5905, 7.3).
fn reference_id(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => {
            let digest = md5::compute(address.octets()).0;
            [digest[0], digest[1], digest[2], digest[3]]
        }
    }
}

/// Cookie of a request; never 0, which means no timestamp.
fn cookie(secret: &[u8; 16], number: u64) -> u64 {
    let mut hash = md5::Context::new();
    hash.consume(secret);
    hash.consume(number.to_be_bytes());
    let digest = hash.finalize().0;
    digest
        .first_chunk()
        .map_or(1, |bytes| u64::from_be_bytes(*bytes) | 1)
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
