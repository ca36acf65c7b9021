//! Router advertisements of one interface (RFC 4861, 6.2; preference: RFC 4191; DNS servers: RFC 8106; NAT64
//! prefixes: RFC 8781; withdrawn prefixes: RFC 9096), configured by `/ipv6/nd`.
//!
//! ```text
//!  Silent ── Start ─▶ Advertising: three quick ones, then one per interval, drawn at random
//!     ▲                 │  a solicitation with an address is answered to that station,
//!     ├──── Stop ───────┤  one without, or too many, to all nodes; to all at most one per `delay`
//!     │ (lifetime zero) │
//!     └── the last stale prefix has expired ◀─ Withdraw: lifetime zero, and stale prefixes
//! ```
//!
//! `config` holds the settings, `stale` the withdrawn prefixes and servers, and `message` builds the packets.

mod config;
pub mod host;
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

/// Router side of router discovery on one interface.
#[derive(Debug)]
pub struct Advertiser {
    config: Config,
    state: State,
    /// Time of the last multicast advertisement; at most one per `delay`.
    told_all: Option<Instant>,
    /// Withdrawn prefixes and servers.
    stale: Stale,
    counters: Counters,
    rng: Rng,
}

#[derive(Debug)]
enum State {
    Silent,
    Advertising {
        /// Link-local address of the interface.
        source: Ipv6Addr,
        /// Initial advertisements left to send (RFC 4861, 6.2.4).
        quick: u8,
        /// Time of the next unsolicited advertisement.
        periodic: Instant,
        /// Time of the solicited multicast advertisement.
        to_all: Option<Instant>,
        /// Soliciting hosts, with time and MAC address of the answer.
        to_one: BTreeMap<Ipv6Addr, (Instant, Mac)>,
        /// Advertises withdrawn prefixes only, with router lifetime zero, until the last of them has expired.
        withdraws: bool,
    },
}

/// Events of an [`Advertiser`].
#[derive(Debug)]
pub enum Event<'a> {
    /// The interface is up and has this link-local address: start to advertise.
    Start {
        /// Link-local address.
        source: Ipv6Addr,
    },
    /// Stop to advertise, after a final advertisement (RFC 4861, 6.2.5).
    Stop,
    /// The interface lost its last prefix: withdraw its prefixes and this router by advertisements from this address
    /// (RFC 9096, 3.5).
    Withdraw {
        /// Link-local address.
        source: Ipv6Addr,
    },
    /// The link went down.
    LinkDown,
    /// The settings changed.
    Configure(Config),
    /// Hosts may still use these prefixes from before a restart. Prefixes that are not configured again become stale
    /// with the first new prefix, or a minute after the start.
    Recall(Vec<Prefix>),
    /// A neighbour discovery packet arrived; only solicitations are handled.
    Received {
        /// Packet, from the IPv6 header on.
        packet: &'a [u8],
        /// Source MAC address.
        from: Mac,
    },
}

/// Actions that the owner of an [`Advertiser`] carries out.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame from the interface's MAC address.
    Send(Frame),
}

/// Timers of an [`Advertiser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Unsolicited multicast advertisement.
    Periodic,
    /// Solicited multicast advertisement.
    ToAll,
    /// Solicited unicast advertisement.
    ToOne,
    /// Prefixes from before a restart become stale.
    Recalled,
}

/// Counters of an advertiser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid solicitations.
    pub solicitations: u64,
    /// Invalid solicitations (RFC 4861, 6.1.1).
    pub invalid: u64,
    /// Multicast advertisements.
    pub to_all: u64,
    /// Unicast advertisements.
    pub to_one: u64,
}

impl Advertiser {
    /// Creates a silent advertiser. Its jitter derives from `seed`.
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

    /// Settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Prefixes from which hosts of the link may have addresses: advertised and stale ones. The owner stores them for
    /// [`Event::Recall`] after a restart.
    pub fn known_prefixes(&self) -> Vec<Prefix> {
        let own = self.config.prefixes.iter().filter(|own| own.valid_s > 0);
        own.copied().chain(self.stale.known()).collect()
    }

    /// True if stale prefixes are being withdrawn.
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
            self.send(source, None, Kind::Farewell, now, out);
        }
        self.state = State::Silent;
    }

    /// Applies new settings. Advertises them soon (RFC 4861, 6.2.4), and withdraws removed prefixes and DNS servers
    /// (RFC 9096, 3.5; RFC 8106, 5.1).
    fn configure(&mut self, config: Config, now: Instant) {
        let config = config.clamped();
        if config == self.config {
            return;
        }
        // Prefixes that were never advertised need not be withdrawn.
        let told = self.told_all.is_some();
        self.stale.replace(&self.config, &config, told, now);
        self.config = config;
        self.schedule_soon(now);
    }

    /// Schedules quick multicast advertisements, as early as the rate limit allows.
    fn schedule_soon(&mut self, now: Instant) {
        let soon = self.earliest_to_all(now);
        if let State::Advertising {
            quick, periodic, ..
        } = &mut self.state
        {
            *quick = QUICK;
            *periodic = soon;
        }
    }

    /// Schedules the answer to a solicitation after a short random delay (RFC 4861, 6.2.6).
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
            // A unicast answer does not wake other hosts (RFC 7772, 5.1).
            Some((address, mac)) if to_one.len() < TO_ONE_MAX => {
                to_one.entry(address).or_insert((now + wait, mac));
            }
            // A pending multicast advertisement answers it.
            _ if *periodic <= earliest || to_all.is_some() => {}
            _ => *to_all = Some(earliest),
        }
    }

    /// Earliest time of the next multicast advertisement: MIN_DELAY_BETWEEN_RAS after the last one.
    fn earliest_to_all(&self, now: Instant) -> Instant {
        self.told_all
            .map_or(now, |last| now.max(last + self.config.delay))
    }

    /// Sends an unsolicited advertisement and schedules the next one.
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
        self.send(source, None, Kind::of(withdraws), now, out);
        self.stale.count_sent();
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
            self.send(source, Some((address, mac)), kind, now, out);
        }
    }

    /// Sends the advertisement in as many packets as it needs.
    fn send(
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

    /// Random interval between minimum and maximum (RFC 4861, 6.2.4).
    fn interval(&mut self) -> Duration {
        let (min, max) = (self.config.interval_min, self.config.interval_max);
        let spread = u64::try_from(max.saturating_sub(min).as_nanos()).unwrap_or(0);
        min + Duration::from_nanos(self.rng.below(spread.saturating_add(1)))
    }

    /// Next transmission and its time.
    fn next(&self) -> Option<(Instant, Transmission)> {
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
            .map(|(&address, &(at, mac))| (at, Transmission::ToOne(address, mac)));
        let all = to_all.map(|at| (at, Transmission::ToAll));
        let recalled = self.stale.deadline().map(|at| (at, Transmission::Recalled));
        ones.chain(all)
            .chain(recalled)
            .chain([(*periodic, Transmission::Periodic)])
            .min_by_key(|&(at, _)| at)
    }
}

/// A scheduled transmission.
#[derive(Clone, Copy, Debug)]
enum Transmission {
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
                Transmission::Periodic | Transmission::ToAll => self.periodic(now, out),
                Transmission::ToOne(address, mac) => self.answer(address, mac, now, out),
                Transmission::Recalled => {
                    self.stale.give_up_recalled(now);
                    self.schedule_soon(now);
                }
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let (at, due) = self.next()?;
        let timer = match due {
            Transmission::Periodic => Timer::Periodic,
            Transmission::ToAll => Timer::ToAll,
            Transmission::ToOne(..) => Timer::ToOne,
            Transmission::Recalled => Timer::Recalled,
        };
        Some((at, timer))
    }
}

/// A solicitation that violates RFC 4861.
struct Invalid;

/// Source address and MAC address of a solicitation, if it has a source.
type Asker = Option<(Ipv6Addr, Mac)>;

/// Parses a router solicitation (RFC 4861, 6.1.1); `Ok(None)` if the packet is none.
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
    // Rejects fragments (RFC 6980, 5) and packets from off the link.
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

/// Number of initial advertisements (MAX_INITIAL_RTR_ADVERTISEMENTS, RFC 4861, 10).
const QUICK: u8 = 3;
/// Maximum interval between them (MAX_INITIAL_RTR_ADVERT_INTERVAL).
const QUICK_INTERVAL_MAX: Duration = Duration::from_secs(16);
/// Maximum delay of an answer (MAX_RA_DELAY_TIME).
const ANSWER_WAIT_MAX: Duration = Duration::from_millis(500);
/// Maximum number of pending unicast answers; beyond that, hosts are answered by multicast.
const TO_ONE_MAX: usize = 32;
