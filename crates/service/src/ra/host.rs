//! Host side of router discovery on one interface: solicits advertisements (RFC 4861, 6.3.7; RFC 7559), and keeps the
//! default routers (RFC 4861, 6.3.4; RFC 4191, 2.2), prefixes for addresses (RFC 4862, 5.5.3) and DNS servers (RFC
//! 8106, 5.3.1) that routers advertise.
//!
//! ```text
//! Start ─▶ solicitation, again after 4 s, 8 s … 1 h ─▶ advertisement of a default router: no more solicitations
//! ```

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use machine::{Duration, Instant, Machine, Rng};
use wire::ndp::{HOP_LIMIT, Message, NdpOption, Options, Preference, Prefix};
use wire::{Mac, Protocol, icmpv6, ipv6};

use super::INFINITE_S;
use crate::Frame;

/// All-routers multicast address (RFC 4291, 2.7.1).
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Maximum delay of the first solicitation (MAX_RTR_SOLICITATION_DELAY, RFC 4861, 10).
const FIRST_DELAY_MAX: Duration = Duration::from_secs(1);
/// Initial and maximum interval of solicitations (RFC 7559, 2).
const INTERVAL: Duration = Duration::from_secs(4);
const INTERVAL_MAX: Duration = Duration::from_secs(3_600);
/// Lifetime below which an advertisement does not reduce that of an address (RFC 4862, 5.5.3).
const TWO_HOURS: Duration = Duration::from_secs(7_200);
/// Maximum number of routers, prefixes and DNS servers.
const MAX_ROUTERS: usize = 8;
const MAX_PREFIXES: usize = 16;
const MAX_SERVERS: usize = 16;

/// Events of a host.
#[derive(Debug)]
pub enum Event<'a> {
    /// The interface is up and has this link-local address; hosts on Ethernet name their link address.
    Start {
        /// Link-local address.
        source: Ipv6Addr,
        /// Link address.
        mac: Option<Mac>,
    },
    /// The link went down, or advertisements are no longer accepted: forgets everything.
    Stop,
    /// A neighbour discovery packet arrived, from the IPv6 header on.
    Received(&'a [u8]),
}

/// Actions that the owner carries out.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame.
    Send(Frame),
    /// Routers, prefixes or servers changed.
    Changed,
}

/// A prefix in which hosts make addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AutonomousPrefix {
    /// Network.
    pub network: Ipv6Addr,
    /// On-link flag: hosts reach every address of the prefix without a router (RFC 4861, 4.6.2).
    pub is_on_link: bool,
}

/// Host side of router discovery.
#[derive(Debug)]
pub struct Host {
    link: Option<Link>,
    routers: BTreeMap<Ipv6Addr, (Preference, Instant)>,
    /// Prefixes of 64 bits with the end of their valid lifetime; `None` is never.
    prefixes: BTreeMap<AutonomousPrefix, Option<Instant>>,
    servers: BTreeMap<Ipv6Addr, Option<Instant>>,
    rng: Rng,
}

#[derive(Debug)]
struct Link {
    source: Ipv6Addr,
    mac: Option<Mac>,
    /// Time and interval of the next solicitation.
    solicit: Option<(Instant, Duration)>,
}

impl Machine for Host {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = ();

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Start { source, mac } => self.start(source, mac, now, out),
            Event::Stop => self.stop(out),
            Event::Received(packet) => self.receive(packet, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.expire(now, out);
        let Some(link) = &mut self.link else { return };
        let Some((_, interval)) = link.solicit.filter(|(at, _)| *at <= now) else {
            return;
        };
        // RFC 7559, 2: the interval doubles, with a random factor of ±10 %.
        let percent = 90 + self.rng.below(21) as u32;
        let next = (interval * 2).min(INTERVAL_MAX);
        link.solicit = Some((now + interval * percent / 100, next));
        let mut options = Vec::new();
        if let Some(mac) = link.mac {
            NdpOption::Source(mac).emit(&mut options);
        }
        let options = Options::new_checked(&options).unwrap_or_default();
        let message = Message::RouterSolicitation { options };
        let to = Mac::of_ipv6_group(ALL_ROUTERS);
        let frame = Frame::discovery(to, link.source, ALL_ROUTERS, &message);
        out.push(Action::Send(frame));
    }

    fn deadline(&self) -> Option<(Instant, ())> {
        let link = self.link.as_ref()?;
        let solicit = link.solicit.map(|(at, _)| at);
        let routers = self.routers.values().map(|(_, until)| *until);
        let prefixes = self.prefixes.values().filter_map(|until| *until);
        let servers = self.servers.values().filter_map(|until| *until);
        let at = routers
            .chain(prefixes)
            .chain(servers)
            .chain(solicit)
            .min()?;
        Some((at, ()))
    }
}

impl Host {
    /// Creates a host that waits for its link. Its jitter derives from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            link: None,
            routers: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            servers: BTreeMap::new(),
            rng: Rng::seeded(seed),
        }
    }

    /// Returns the default routers with the best preference (RFC 4191, 3.2).
    pub fn routers(&self) -> impl Iterator<Item = Ipv6Addr> {
        let best = self
            .routers
            .values()
            .map(|(preference, _)| *preference)
            .max();
        let routers = self.routers.iter();
        let routers = routers.filter(move |(_, (preference, _))| Some(*preference) == best);
        routers.map(|(router, _)| *router)
    }

    /// Returns the prefixes in which the host makes addresses.
    pub fn prefixes(&self) -> impl Iterator<Item = AutonomousPrefix> {
        self.prefixes.keys().copied()
    }

    /// Returns the DNS servers.
    pub fn servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.servers.keys().copied()
    }

    /// Link-local address of the interface, while the host runs.
    pub fn source(&self) -> Option<Ipv6Addr> {
        self.link.as_ref().map(|link| link.source)
    }

    fn start(&mut self, source: Ipv6Addr, mac: Option<Mac>, now: Instant, out: &mut Vec<Action>) {
        if self.source() == Some(source) {
            return;
        }
        self.stop(out);
        let wait = Duration::from_nanos(self.rng.below(FIRST_DELAY_MAX.as_nanos() as u64));
        self.link = Some(Link {
            source,
            mac,
            solicit: Some((now + wait, INTERVAL)),
        });
    }

    fn stop(&mut self, out: &mut Vec<Action>) {
        self.link = None;
        let before = (
            core::mem::take(&mut self.routers),
            core::mem::take(&mut self.prefixes),
            core::mem::take(&mut self.servers),
        );
        if !(before.0.is_empty() && before.1.is_empty() && before.2.is_empty()) {
            out.push(Action::Changed);
        }
    }

    fn expire(&mut self, now: Instant, out: &mut Vec<Action>) {
        let count = |host: &Self| host.routers.len() + host.prefixes.len() + host.servers.len();
        let before = count(self);
        let lives = |until: Option<Instant>| until.is_none_or(|until| until > now);
        self.routers.retain(|_, (_, until)| *until > now);
        self.prefixes.retain(|_, until| lives(*until));
        self.servers.retain(|_, until| lives(*until));
        if count(self) != before {
            out.push(Action::Changed);
        }
        if self.routers.is_empty()
            && let Some(link) = &mut self.link
            && link.solicit.is_none()
        {
            link.solicit = Some((now, INTERVAL));
        }
    }

    fn receive(&mut self, packet: &[u8], now: Instant, out: &mut Vec<Action>) {
        if self.link.is_none() {
            return;
        }
        let mut has_changed = false;
        let handled = advertisement(packet, |from, message| {
            if let Message::RouterAdvertisement { router, options } = message {
                let lifetime = Duration::from_secs(router.lifetime_s.into());
                has_changed |= self.set_router(from, router.preference, now, lifetime);
                for option in options.iter() {
                    has_changed |= match option {
                        NdpOption::Prefix(prefix) => self.set_prefix(&prefix, now),
                        NdpOption::Rdnss(dns) => {
                            let servers = dns.servers.iter().copied().map(Ipv6Addr::from);
                            let until = end(now, dns.lifetime_s);
                            servers.fold(false, |changed, server| {
                                changed | self.set_server(server, until, now)
                            })
                        }
                        _ => false,
                    };
                }
            }
        });
        if handled.is_some() && has_changed {
            out.push(Action::Changed);
        }
    }

    fn set_router(
        &mut self,
        router: Ipv6Addr,
        preference: Preference,
        now: Instant,
        lifetime: Duration,
    ) -> bool {
        if lifetime.is_zero() {
            return self.routers.remove(&router).is_some();
        }
        if let Some(link) = &mut self.link {
            link.solicit = None;
        }
        let is_known = self.routers.contains_key(&router);
        if !is_known && self.routers.len() >= MAX_ROUTERS {
            return false;
        }
        let before = self.routers.insert(router, (preference, now + lifetime));
        before.map(|(preference, _)| preference) != Some(preference)
    }

    /// Handles a prefix (RFC 4862, 5.5.3).
    fn set_prefix(&mut self, prefix: &Prefix, now: Instant) -> bool {
        let is_usable = prefix.autonomous
            && prefix.len == 64
            && prefix.preferred_s <= prefix.valid_s
            && !prefix.prefix.is_unicast_link_local()
            && !prefix.prefix.is_multicast();
        if !is_usable {
            return false;
        }
        let network = Ipv6Addr::from_bits(prefix.prefix.to_bits() & !u128::from(u64::MAX));
        let key = AutonomousPrefix {
            network,
            is_on_link: prefix.on_link,
        };
        let until = end(now, prefix.valid_s);
        let Some(own) = self.prefixes.get_mut(&key) else {
            if prefix.valid_s == 0 || self.prefixes.len() >= MAX_PREFIXES {
                return false;
            }
            // The same prefix with the other flag is replaced.
            self.prefixes.retain(|other, _| other.network != network);
            self.prefixes.insert(key, until);
            return true;
        };
        let floor = now + TWO_HOURS;
        *own = match (*own, until) {
            (_, None) => None,
            (_, Some(until)) if until > floor => Some(until),
            (Some(own), Some(until)) if until > own || own <= floor => Some(own.max(until)),
            _ => Some(floor),
        };
        false
    }

    fn set_server(&mut self, server: Ipv6Addr, until: Option<Instant>, now: Instant) -> bool {
        if until == Some(now) {
            return self.servers.remove(&server).is_some();
        }
        let is_known = self.servers.contains_key(&server);
        if !is_known && self.servers.len() >= MAX_SERVERS {
            return false;
        }
        self.servers.insert(server, until);
        !is_known
    }
}

/// Returns the end of a lifetime; `None` is never.
fn end(now: Instant, seconds: u32) -> Option<Instant> {
    (seconds != INFINITE_S).then(|| now + Duration::from_secs(seconds.into()))
}

/// Passes a valid advertisement and its sender to `handle` (RFC 4861, 6.1.2).
fn advertisement(packet: &[u8], handle: impl FnOnce(Ipv6Addr, Message<'_>)) -> Option<()> {
    let ip = ipv6::Packet::new_checked(packet).ok()?;
    let upper = ip.upper().ok()?;
    let is_from_link = ip.hop_limit() == HOP_LIMIT && ip.src().is_unicast_link_local();
    if upper.protocol != Protocol::ICMPV6 || upper.fragment.is_some() || !is_from_link {
        return None;
    }
    let icmp = icmpv6::Packet::new_verified(upper.payload, ip.src(), ip.dst()).ok()?;
    let message = Message::parse(&icmp).ok()?;
    handle(ip.src(), message);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::ALL_NODES;
    use crate::ra::{self, Advertiser, Config};

    const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const HOST: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7);
    const NETWORK: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0);

    struct Rig {
        host: Host,
        router: Advertiser,
        now: Instant,
    }

    fn rig() -> Rig {
        let mut config = Config::new(Mac([2, 0, 0, 0, 0, 1]));
        config.prefixes = vec![ra::Prefix::of_address(NETWORK, 64)];
        config.dns = vec![Ipv6Addr::LOCALHOST];
        let mut rig = Rig {
            host: Host::new(1),
            router: Advertiser::new(config, 2),
            now: Instant::from_secs(10),
        };
        let start = ra::Event::Start { source: ROUTER };
        rig.router.handle(start, rig.now, &mut Vec::new());
        rig.host_handles(Event::Start {
            source: HOST,
            mac: Some(Mac([2, 0, 0, 0, 0, 7])),
        });
        rig
    }

    impl Rig {
        fn host_handles(&mut self, event: Event<'_>) -> Vec<Action> {
            let mut out = Vec::new();
            self.host.handle(event, self.now, &mut out);
            out
        }

        /// Lets the host's next timer expire.
        fn host_ticks(&mut self) -> Vec<Action> {
            let (at, ()) = self.host.deadline().expect("a timer");
            self.now = self.now.max(at);
            let mut out = Vec::new();
            self.host.tick(self.now, &mut out);
            out
        }

        /// Passes the router's next advertisement to the host. Returns whether anything changed.
        fn advertise(&mut self) -> bool {
            let (at, _) = self.router.deadline().expect("a timer");
            self.now = self.now.max(at);
            let mut out = Vec::new();
            self.router.tick(self.now, &mut out);
            let mut changed = false;
            for ra::Action::Send(frame) in out {
                changed |= !self
                    .host_handles(Event::Received(&frame.payload))
                    .is_empty();
            }
            changed
        }
    }

    fn has_solicited(actions: &[Action]) -> bool {
        matches!(actions, [Action::Send(frame)] if frame.payload[40] == 133)
    }

    #[test]
    fn a_host_solicits_until_a_router_answers_and_learns_what_it_advertises() {
        let mut rig = rig();
        for _ in 0..3 {
            assert!(has_solicited(&rig.host_ticks()));
        }
        assert!(rig.now >= Instant::from_secs(10) + INTERVAL * 2);
        assert!(rig.advertise());
        assert_eq!(rig.host.routers().collect::<Vec<_>>(), [ROUTER]);
        let prefixes: Vec<_> = rig.host.prefixes().collect();
        assert_eq!(
            (prefixes[0].network, prefixes[0].is_on_link),
            (NETWORK, true)
        );
        assert_eq!(
            rig.host.servers().collect::<Vec<_>>(),
            [Ipv6Addr::LOCALHOST]
        );
        assert!(!rig.advertise(), "the second one says the same");

        // The router falls silent: its lifetime and that of its servers end, and the host solicits again.
        let actions = rig.host_ticks();
        assert!(matches!(actions[..], [Action::Changed, Action::Send(_)]));
        assert_eq!(
            (rig.host.servers().count(), rig.host.prefixes().count()),
            (0, 1)
        );
        assert_eq!(rig.host.routers().count(), 0);
        assert!(
            rig.host
                .link
                .as_ref()
                .is_some_and(|link| link.solicit.is_some())
        );
    }

    #[test]
    fn a_farewell_removes_the_router_and_keeps_addresses_for_two_hours() {
        let mut rig = rig();
        rig.advertise();
        let mut config = rig.router.config().clone();
        config.prefixes.clear();
        rig.router
            .handle(ra::Event::Configure(config), rig.now, &mut Vec::new());
        let mut out = Vec::new();
        rig.router.handle(ra::Event::Stop, rig.now, &mut out);
        for ra::Action::Send(frame) in out {
            rig.host_handles(Event::Received(&frame.payload));
        }
        assert_eq!(rig.host.routers().count(), 0);
        let until = rig.host.prefixes.values().next().expect("a prefix");
        assert_eq!(*until, Some(rig.now + TWO_HOURS));
        assert_eq!(rig.host_handles(Event::Stop), [Action::Changed]);
        assert!(rig.host.deadline().is_none());
    }

    #[test]
    fn advertisements_from_off_the_link_are_ignored() {
        let options = Options::default();
        let router = wire::ndp::Router {
            lifetime_s: 100,
            ..wire::ndp::Router::default()
        };
        let message = Message::RouterAdvertisement { router, options };
        let mac = Mac([0x33, 0x33, 0, 0, 0, 1]);
        let frame = |from| Frame::discovery(mac, from, ALL_NODES, &message).payload;
        let mut rig = rig();
        assert!(
            rig.host_handles(Event::Received(&frame(NETWORK)))
                .is_empty()
        );
        let mut far = frame(ROUTER);
        far[7] = 64;
        assert!(rig.host_handles(Event::Received(&far)).is_empty());
        let good = frame(ROUTER);
        for len in 0..good.len() {
            assert!(rig.host_handles(Event::Received(&good[..len])).is_empty());
        }
        assert_eq!(rig.host_handles(Event::Received(&good)), [Action::Changed]);
    }
}
