//! Router advertisements of one interface (RFC 4861, 6.2; preference: RFC 4191; DNS servers:
//! RFC 8106; NAT64 prefixes: RFC 8781; withdrawn prefixes: RFC 9096), with the properties of
//! `/ipv6/nd`.
//!
//! ```text
//!  Silent ── Start ─▶ Advertising: three quick ones, then one per interval, drawn at random
//!     ▲                 │  a solicitation with an address is answered to that station,
//!     ├──── Stop ───────┤  one without, or too many, to all nodes; to all at most one per `delay`
//!     │ (lifetime zero) │
//!     └── the last stale prefix has expired ◀─ Withdraw: lifetime zero, and stale prefixes
//! ```
//!
//! `config` says what is advertised, `stale` which prefixes and servers hosts must not use any more, `message` makes
//! packets of both.

mod config;
mod message;
mod stale;

#[cfg(test)]
mod tests;

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use machine::{Duration, Instant, Machine, Rng};
use wire::ndp::{HOP_LIMIT, Message};
use wire::{Mac, Protocol, icmpv6, ipv6};

use crate::Frame;
use crate::outbound::ALL_NODES;

pub use config::{Config, INFINITE_S, Nat64Prefix, Prefix};
use message::Kind;
use stale::Stale;

/// The router's side of router discovery on one interface, as a machine.
#[derive(Debug)]
pub struct Advertiser {
    config: Config,
    state: State,
    /// When all nodes were last told; at most once per `delay`.
    told_all: Option<Instant>,
    /// What was advertised before and must not be used any more.
    stale: Stale,
    counters: Counters,
    rng: Rng,
}

#[derive(Debug)]
enum State {
    Silent,
    Advertising {
        /// Our link-local address on the interface.
        source: Ipv6Addr,
        /// Quick advertisements still to be sent (RFC 4861, 6.2.4).
        quick: u8,
        /// When all nodes are told next, unasked.
        periodic: Instant,
        /// When all nodes are told because somebody asked.
        to_all: Option<Instant>,
        /// Stations that asked, when they are answered, and where.
        to_one: BTreeMap<Ipv6Addr, (Instant, Mac)>,
        /// Advertises stale prefixes alone, with a router lifetime of zero, until the last of them has expired.
        withdraws: bool,
    },
}

/// What happens to an [`Advertiser`].
#[derive(Debug)]
pub enum Event<'a> {
    /// The interface is up and this link-local address of it is in use: advertise from it.
    Start {
        /// Our link-local address.
        source: Ipv6Addr,
    },
    /// Advertise no more, and say so (RFC 4861, 6.2.5).
    Stop,
    /// The interface has lost its last prefix: advertise from this address that its prefixes and this router are not
    /// to be used any more (RFC 9096, 3.5).
    Withdraw {
        /// Our link-local address.
        source: Ipv6Addr,
    },
    /// The link went down: nobody can be told.
    LinkDown,
    /// What is advertised changed.
    Configure(Config),
    /// Hosts may still use these prefixes, which were advertised before a restart. Those that are not advertised
    /// again become stale: with the first prefix that is new, or a minute after the start of advertisements.
    Recall(Vec<Prefix>),
    /// A packet of neighbour discovery arrived; all but solicitations are ignored.
    Received {
        /// The packet, from its IPv6 header on.
        packet: &'a [u8],
        /// The frame's source.
        from: Mac,
    },
}

/// What an [`Advertiser`] wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Transmit a frame on this interface, from its MAC address.
    Send(Frame),
}

/// The timers of an [`Advertiser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// All nodes are told, unasked.
    Periodic,
    /// All nodes are told because somebody asked.
    ToAll,
    /// A station that asked is answered.
    ToOne,
    /// Prefixes of before a restart become stale.
    Recalled,
}

/// What was heard and said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid solicitations.
    pub solicitations: u64,
    /// Packets that look like solicitations and are not valid (RFC 4861, 6.1.1).
    pub invalid: u64,
    /// Advertisements to all nodes.
    pub to_all: u64,
    /// Advertisements to one station.
    pub to_one: u64,
}

impl Advertiser {
    /// A silent advertiser; all of its jitter follows from `seed`.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config: config.clamped(),
            state: State::Silent,
            told_all: None,
            stale: Stale::default(),
            counters: Counters::default(),
            rng: Rng::seeded(seed),
        }
    }

    /// The configuration in force.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What was heard and said.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The prefixes that hosts of the link may have addresses of: those that are advertised, and the stale ones.
    /// The owner keeps them over a restart for [`Event::Recall`].
    pub fn known_prefixes(&self) -> Vec<Prefix> {
        let own = self.config.prefixes.iter().filter(|own| own.valid_s > 0);
        own.copied().chain(self.stale.known()).collect()
    }

    /// Whether hosts are told of stale prefixes.
    pub fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    fn start(&mut self, source: Ipv6Addr, withdraws: bool, now: Instant) {
        self.stale.started(now);
        self.state = State::Advertising {
            source,
            quick: QUICK,
            periodic: self.earliest_to_all(now),
            to_all: None,
            to_one: BTreeMap::new(),
            withdraws,
        };
    }

    fn stop(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let State::Advertising { source, .. } = self.state {
            self.tell(source, None, Kind::Farewell, now, out);
        }
        self.state = State::Silent;
    }

    /// Takes a new configuration. Hosts hear of it soon (RFC 4861, 6.2.4), and of prefixes and name servers that it
    /// does not have any more (RFC 9096, 3.5; RFC 8106, 5.1).
    fn configure(&mut self, config: Config, now: Instant) {
        let config = config.clamped();
        if config == self.config {
            return;
        }
        // Nobody was told of what was configured before the first advertisement.
        let told = self.told_all.is_some();
        self.stale.replace(&self.config, &config, told, now);
        self.config = config;
        self.tell_soon(now);
    }

    /// Has all nodes be told as soon as they may be, and quickly again.
    fn tell_soon(&mut self, now: Instant) {
        let soon = self.earliest_to_all(now);
        if let State::Advertising {
            quick, periodic, ..
        } = &mut self.state
        {
            *quick = QUICK;
            *periodic = soon;
        }
    }

    /// A solicitation is answered after a short random wait (RFC 4861, 6.2.6).
    fn received(&mut self, packet: &[u8], from: Mac, now: Instant) {
        if from == self.config.mac {
            return;
        }
        let asker = match solicitation(packet, from) {
            Ok(Some(asker)) => asker,
            Ok(None) => return,
            Err(Invalid) => {
                self.counters.invalid += 1;
                return;
            }
        };
        self.counters.solicitations += 1;
        let wait = Duration::from_nanos(self.rng.below(ANSWER_WAIT_MAX.as_nanos() as u64));
        let earliest = self.earliest_to_all(now) + wait;
        let State::Advertising {
            periodic,
            to_all,
            to_one,
            ..
        } = &mut self.state
        else {
            return;
        };
        match asker {
            // Others need not be woken for one (RFC 7772, 5.1).
            Some((address, mac)) if to_one.len() < TO_ONE_MAX => {
                to_one.entry(address).or_insert((now + wait, mac));
            }
            // What all are told soon anyway answers it.
            _ if *periodic <= earliest || to_all.is_some() => {}
            _ => *to_all = Some(earliest),
        }
    }

    /// When all nodes may be told again: MIN_DELAY_BETWEEN_RAS after the last time.
    fn earliest_to_all(&self, now: Instant) -> Instant {
        self.told_all
            .map_or(now, |last| now.max(last + self.config.delay))
    }

    /// Tells all nodes, and draws the time of the next.
    fn periodic(&mut self, now: Instant, out: &mut Vec<Action>) {
        let State::Advertising {
            source,
            quick,
            withdraws,
            ..
        } = self.state
        else {
            return;
        };
        self.stale.expire(now);
        if withdraws && self.stale.is_empty() {
            self.state = State::Silent;
            return;
        }
        let quick = quick.saturating_sub(1);
        let mut interval = self.interval();
        if quick > 0 {
            interval = interval.min(QUICK_INTERVAL_MAX);
        }
        if let State::Advertising {
            quick: quick_left,
            periodic,
            to_all,
            ..
        } = &mut self.state
        {
            *quick_left = quick;
            *periodic = now + interval;
            *to_all = None;
        }
        self.told_all = Some(now);
        self.tell(source, None, Kind::of(withdraws), now, out);
        self.stale.told();
    }

    fn answer(&mut self, address: Ipv6Addr, mac: Mac, now: Instant, out: &mut Vec<Action>) {
        if let State::Advertising {
            source,
            to_one,
            withdraws,
            ..
        } = &mut self.state
        {
            to_one.remove(&address);
            let (source, kind) = (*source, Kind::of(*withdraws));
            self.tell(source, Some((address, mac)), kind, now, out);
        }
    }

    /// Sends what is to be said, in as many packets as it takes.
    fn tell(
        &mut self,
        source: Ipv6Addr,
        to: Option<(Ipv6Addr, Mac)>,
        kind: Kind,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        self.stale.expire(now);
        let (dst, mac) = to.unwrap_or((ALL_NODES, Mac::of_ipv6_group(ALL_NODES)));
        match to {
            Some(_) => self.counters.to_one += 1,
            None => self.counters.to_all += 1,
        }
        let router = message::router(&self.config, kind);
        for options in message::options(&self.config, &self.stale, kind) {
            let options = wire::ndp::Options::new_checked(&options).unwrap_or_default();
            let message = Message::RouterAdvertisement { router, options };
            out.push(Action::Send(Frame::discovery(mac, source, dst, &message)));
        }
    }

    /// Between the least and the greatest interval, evenly (RFC 4861, 6.2.4).
    fn interval(&mut self) -> Duration {
        let (min, max) = (self.config.interval_min, self.config.interval_max);
        let spread = u64::try_from(max.saturating_sub(min).as_nanos()).unwrap_or(0);
        min + Duration::from_nanos(self.rng.below(spread.saturating_add(1)))
    }

    /// What is to be done next, and when.
    fn next(&self) -> Option<(Instant, Due)> {
        let State::Advertising {
            periodic,
            to_all,
            to_one,
            ..
        } = &self.state
        else {
            return None;
        };
        let ones = to_one
            .iter()
            .map(|(&address, &(at, mac))| (at, Due::ToOne(address, mac)));
        let all = to_all.map(|at| (at, Due::ToAll));
        let recalled = self.stale.deadline().map(|at| (at, Due::Recalled));
        ones.chain(all)
            .chain(recalled)
            .chain([(*periodic, Due::Periodic)])
            .min_by_key(|&(at, _)| at)
    }
}

/// Something to be done.
#[derive(Clone, Copy, Debug)]
enum Due {
    Periodic,
    ToAll,
    ToOne(Ipv6Addr, Mac),
    Recalled,
}

impl Machine for Advertiser {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Start { source } => self.start(source, false, now),
            Event::Withdraw { source } => self.start(source, true, now),
            Event::Stop => self.stop(now, out),
            Event::LinkDown => self.state = State::Silent,
            Event::Configure(config) => self.configure(config, now),
            Event::Recall(prefixes) => self.stale.recall(prefixes),
            Event::Received { packet, from } => self.received(packet, from, now),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((_, due)) = self.next().filter(|&(at, _)| at <= now) {
            match due {
                Due::Periodic | Due::ToAll => self.periodic(now, out),
                Due::ToOne(address, mac) => self.answer(address, mac, now, out),
                Due::Recalled => {
                    self.stale.give_up_recalled(now);
                    self.tell_soon(now);
                }
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let (at, due) = self.next()?;
        let timer = match due {
            Due::Periodic => Timer::Periodic,
            Due::ToAll => Timer::ToAll,
            Due::ToOne(..) => Timer::ToOne,
            Due::Recalled => Timer::Recalled,
        };
        Some((at, timer))
    }
}

/// A packet is a solicitation that breaks a rule.
struct Invalid;

/// Where the asker of a solicitation is to be answered.
type Asker = Option<(Ipv6Addr, Mac)>;

/// Reads a router solicitation (RFC 4861, 6.1.1): `Some` if it is one, and in it the station, if it
/// has an address.
fn solicitation(packet: &[u8], from: Mac) -> Result<Option<Asker>, Invalid> {
    let Ok(ip) = ipv6::Packet::new_checked(packet) else {
        return Ok(None);
    };
    let Ok(upper) = ip.upper() else {
        return Ok(None);
    };
    let kind = upper.payload.first().copied();
    if upper.protocol != Protocol::ICMPV6 || kind != Some(icmpv6::Type::ROUTER_SOLICITATION.0) {
        return Ok(None);
    }
    // Not in fragments (RFC 6980, 5); not from beyond the link.
    if ip.hop_limit() != HOP_LIMIT || upper.fragment.is_some() {
        return Err(Invalid);
    }
    let icmp =
        icmpv6::Packet::new_verified(upper.payload, ip.src(), ip.dst()).map_err(|_| Invalid)?;
    let message = Message::parse(&icmp).map_err(|_| Invalid)?;
    let mac = message.options().source();
    if ip.src().is_unspecified() {
        return match mac {
            Some(_) => Err(Invalid),
            None => Ok(Some(None)),
        };
    }
    let mac = mac.unwrap_or(from);
    if ip.src().is_multicast() || !mac.is_unicast() {
        return Err(Invalid);
    }
    Ok(Some(Some((ip.src(), mac))))
}

/// Quick advertisements at the start (MAX_INITIAL_RTR_ADVERTISEMENTS, RFC 4861, 10).
const QUICK: u8 = 3;
/// How far apart they are at most (MAX_INITIAL_RTR_ADVERT_INTERVAL).
const QUICK_INTERVAL_MAX: Duration = Duration::from_secs(16);
/// The longest wait before an answer (MAX_RA_DELAY_TIME).
const ANSWER_WAIT_MAX: Duration = Duration::from_millis(500);
/// How many stations wait for an answer of their own; if more ask, all are told.
const TO_ONE_MAX: usize = 32;
