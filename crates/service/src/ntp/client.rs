//! The client: questions to servers, and what their answers make of the time (RFC 5905, 9 to 11 and 13).

use core::net::IpAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use machine::{Instant, Machine, Rng};
use wire::ntp::{Malformed, Mode, Packet, Repr, Short, Timestamp, UNSYNCHRONIZED};

use super::discipline::STEP;
use super::filter::{Filter, Filtered, Sample};
use super::select::{Candidate, Selected, select};
use super::{Discipline, Key, PRECISION, SECOND, Synchronized, Update, wander};

/// Most servers that are asked.
const PEERS: usize = 64;
/// Questions of a burst, and the space between them (RFC 5905, 13.3: two seconds).
const BURST: u8 = 6;
const BURST_SPACE: Duration = Duration::from_secs(2);
/// Who may be more wrong than this is not believed (RFC 5905, figure 5: MAXDIST).
const DISTANCE_MOST: i64 = 3 * SECOND / 2;
/// The least distance (MINDISP).
const DISTANCE_LEAST: i64 = SECOND / 200;
/// How long the raw time may differ from what went by before it counts as set.
const SET: i64 = SECOND / 20;
/// How many good or bad measurements change the interval between questions (LIMIT).
const LIMIT: i32 = 30;

/// A server, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// By which the owner knows it.
    pub id: u64,
    /// Its address, once that is known.
    pub address: Option<IpAddr>,
    /// The shortest interval between questions, as a power of two seconds, 3 to 17.
    pub min_poll: u8,
    /// The longest.
    pub max_poll: u8,
    /// Whether several questions are put at the beginning.
    pub burst: bool,
    /// The key that its answers have to be signed with.
    pub key: Option<Key>,
}

/// What happens to a [`Client`].
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The raw time, in nanoseconds since 1970.
    Clock(i64),
    /// These servers are asked, and no others. One that stays as it was goes on.
    Configure(Vec<Peer>),
    /// An answer, from port 123 of this address.
    Received {
        /// Who sent it.
        from: IpAddr,
        /// What the datagram carries.
        bytes: &'a [u8],
    },
}

/// What a [`Client`] wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A question is to be sent to port 123.
    Send {
        /// To whom.
        to: IpAddr,
        /// What.
        bytes: Vec<u8>,
    },
    /// The time is that of this server from now on.
    Synchronized(IpAddr),
    /// Nobody is believed any more.
    Lost,
    /// The clock was stepped by these nanoseconds.
    Stepped(i64),
    /// A server wants fewer questions, or none (RFC 5905, 7.4).
    Kissed(IpAddr, [u8; 4]),
    /// What arrived does not count.
    Discarded(Fault),
}

/// Why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read.
    Malformed(Malformed),
    /// Nobody asked: another sender, another question, or an answer that came before.
    Unasked,
    /// It is not signed with the server's key.
    Unsigned,
    /// The server has no time, or says what cannot be.
    Unfit,
}

/// What is known of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Who is believed.
    pub server: IpAddr,
    /// His stratum.
    pub stratum: u8,
    /// What the clock lacked at the last measurement, in nanoseconds.
    pub offset: i64,
    /// How far measurements are from each other.
    pub jitter: i64,
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its stratum; 16 if it has none.
    pub stratum: u8,
    /// The last eight questions, the newest in the lowest bit: whether they were answered.
    pub reach: u8,
    /// The interval between questions, as a power of two seconds.
    pub poll: u8,
    /// Offset, delay and jitter in nanoseconds, of the sample that is believed.
    pub measured: Option<(i64, i64, i64)>,
    /// Whether it wants no questions.
    pub denied: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Client {
    peers: BTreeMap<u64, Association>,
    discipline: Discipline,
    status: Option<Status>,
    /// Of the server that is believed.
    root: Root,
    /// The raw time, and when it was that.
    raw: (i64, Instant),
    /// How good measurements have been.
    jiggle: i32,
    /// When the sample was taken that was believed last.
    used: i64,
    rng: Rng,
    /// What questions are made of, as a server that sees its own is not to guess those to others.
    secret: [u8; 16],
    asked: u64,
}

/// How far away a server's clock is.
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
    /// Questions of a burst that are still to be put.
    burst: u8,
    next: Option<Instant>,
    /// What the answer has to bring, and the raw time of the question.
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
                if let Err(fault) = self.hear(from, bytes, now, out) {
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
                one.ask((raw, cookie), now, &mut self.rng, out);
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
    /// A client without servers. Nobody may guess what `rng` gives: answers are known by it; `raw` is the raw time at
    /// `now`, in nanoseconds since 1970.
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

    /// What the time of day is made of.
    pub const fn discipline(&self) -> &Discipline {
        &self.discipline
    }

    /// Who is believed, if anybody.
    pub const fn status(&self) -> Option<Status> {
        self.status
    }

    /// What is known of a server.
    pub fn peer(&self, id: u64) -> Option<PeerStatus> {
        let one = self.peers.get(&id)?;
        let (raw, _) = self.raw;
        let added = self.discipline.added(raw);
        let measured = one.filter.look(raw).map(|found| {
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

    /// What a server of this router tells of the time; nothing if nobody is believed.
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

    /// Forgets how wrong the clock runs.
    pub fn reset_frequency(&mut self, now: Instant) {
        self.discipline.reset_frequency(self.raw_at(now));
    }

    /// The time of day, in nanoseconds since 1970.
    pub fn time(&self, now: Instant) -> i64 {
        self.discipline.time(self.raw_at(now))
    }

    fn raw_at(&self, now: Instant) -> i64 {
        let (raw, at) = self.raw;
        raw.saturating_add(nanos(now - at))
    }

    /// Takes the raw time. If somebody has set it, the time of day goes on as it did, where servers said what it is.
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

    fn hear(
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
        one.learn(&packet.repr, (asked, raw))?;
        self.choose(raw, out);
        Ok(())
    }

    /// Selects who is believed, and corrects the clock by what he says.
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
        // A sample is used once (RFC 5905, 11.1).
        if found.best.at > self.used {
            self.used = found.best.at;
            status.offset = self.correct(&selected, raw, out);
            self.tune(id, &status);
        }
        self.status = Some(status);
    }

    /// Corrects the clock; gives what it lacked.
    fn correct(&mut self, selected: &Selected, raw: i64, out: &mut Vec<Action>) -> i64 {
        let offset = selected.offset.saturating_sub(self.discipline.added(raw));
        if self.discipline.update(offset, raw) == Update::Stepped {
            out.push(Action::Stepped(offset));
        }
        offset
    }

    /// Lets questions become rarer while the clock is good (RFC 5905, 13).
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

    /// Puts a question.
    fn ask(
        &mut self,
        (raw, cookie): (i64, u64),
        now: Instant,
        rng: &mut Rng,
        out: &mut Vec<Action>,
    ) {
        let Some(to) = self.peer.address.filter(|_| !self.denied) else {
            self.next = None;
            return;
        };
        let begins = self.burst == 0;
        if begins {
            let again = self.reach.trailing_zeros() >= 3 && self.peer.burst;
            self.burst = if again { BURST } else { 1 };
        }
        // Those of a burst count as one.
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
                // Nobody is asked by all at once.
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

    /// Hears that the server wants fewer questions, or none (RFC 5905, 7.4).
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

    /// Takes a sample from an answer: when it was asked for and when it came, in raw time.
    fn learn(&mut self, said: &Repr, (asked, came): (i64, i64)) -> Result<(), Fault> {
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

    /// What its samples tell, if it may be believed at all (RFC 5905, 11.1: fit).
    fn fit(&self, raw: i64) -> Option<Filtered> {
        let found = self.filter.look(raw)?;
        let may = self.reach != 0 && self.leap != 3 && self.stratum < UNSYNCHRONIZED;
        let most = DISTANCE_MOST + wander(SECOND << self.poll.min(17));
        (may && self.distance(&found) < most).then_some(found)
    }

    /// How wrong it may be at most (RFC 5905, A.5.5.2).
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

/// How packets name a server: an address of IPv4, or the beginning of a digest of one of IPv6 (RFC 5905, 7.3).
fn reference_id(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => {
            let digest = md5::compute(address.octets()).0;
            [digest[0], digest[1], digest[2], digest[3]]
        }
    }
}

/// The random bits of a question; 0 would say that there are none.
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
