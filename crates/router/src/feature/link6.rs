//! Router advertisements, and MLD reports of joined groups, on every IPv6 link.

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine, Rng};
use service::mld::{self, Listener};
use service::ra::{self, Advertiser};
use wire::Mac;
use wire::icmpv6::Type;
use wire::ndp::Preference;

use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::neighbours::{DISCOVERY, discovery};
use super::{Effect, Effects, Feature};
use crate::compile::LayoutEntry;
use crate::drive::timers::Timers;
use crate::intent::{AdvertiseDns, ItemId, Lifetime, Name, Nd};
use crate::learned::{Learned, NameServers6};
use crate::records::{Key, Kind, Recalled};
use crate::running::Running;

/// Limit of MLD queries: queriers send one every two minutes (RFC 3810, 9.2).
const QUERIES: Rate = Rate {
    per_second: 1_000,
    burst: 128,
};

/// Protocol machines of one link.
#[derive(Debug)]
struct Link6 {
    advertiser: Advertiser,
    /// Kind of advertisements sent, and their link-local source address.
    speech: Speech,
    listener: Listener,
    /// Item of the interface, and its name.
    item: ItemId,
    name: Name,
    /// The stored record of its prefixes.
    record: Option<Vec<u8>>,
}

/// Advertisements that a link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    Nothing,
    /// Withdraws prefixes that no longer exist.
    Withdrawal(Ipv6Addr),
    /// Advertises the configuration.
    Advertisement(Ipv6Addr),
}

/// Owner of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DeadlineOwner {
    /// Router advertisements of a link.
    Advertise(InterfaceId),
    /// MLD reports of a link.
    Listen(InterfaceId),
}

/// Protocol machines of all links.
#[derive(Debug)]
pub(crate) struct Links6 {
    /// Boxed: a node of the tree has room for eleven values.
    links: BTreeMap<InterfaceId, Box<Link6>>,
    /// Prefixes advertised before a restart, by item of the interface.
    recalled: BTreeMap<ItemId, Vec<ra::Prefix>>,
    servers: NameServers6,
    timers: Timers<DeadlineOwner>,
    rng: Rng,
    /// The router is ending: interfaces go, but hosts keep their prefixes.
    ends: bool,
}

#[cfg(test)]
impl Links6 {
    /// Returns the advertised source address and configuration of each link; `None` for links
    /// without advertisements.
    pub(crate) fn advertised(
        &self,
    ) -> impl ExactSizeIterator<Item = (InterfaceId, Option<(Ipv6Addr, &ra::Config)>)> {
        self.links.iter().map(|(id, link)| match link.speech {
            Speech::Advertisement(from) => (*id, Some((from, link.advertiser.config()))),
            Speech::Withdrawal(_) | Speech::Nothing => (*id, None),
        })
    }
}

impl Links6 {
    /// Returns an instance without links. All jitter is derived from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            links: BTreeMap::new(),
            recalled: BTreeMap::new(),
            servers: NameServers6::default(),
            timers: Timers::default(),
            rng: Rng::seeded(seed),
            ends: false,
        }
    }

    /// Starts to report a group on a link.
    pub(crate) fn join(
        &mut self,
        id: InterfaceId,
        group: Ipv6Addr,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if let Some(laid) = running.layout.interfaces.get(&id) {
            self.link(id, laid);
        }
        self.feed_listener(id, mld::Event::Join { group }, running.now, out);
    }

    /// Stops to report a group on a link.
    pub(crate) fn leave(
        &mut self,
        id: InterfaceId,
        group: Ipv6Addr,
        now: Instant,
        out: &mut Effects,
    ) {
        self.feed_listener(id, mld::Event::Leave { group }, now, out);
    }

    /// Sends final advertisements before the router ends (RFC 4861, 6.2.5).
    pub(crate) fn say_farewell(&mut self, now: Instant, out: &mut Effects) {
        self.ends = true;
        let advertising = { self.links.iter() }.filter(|(_, link)| link.speech != Speech::Nothing);
        let links: Vec<_> = advertising.map(|(id, _)| *id).collect();
        for id in links {
            self.feed_advertiser(id, ra::Event::Stop, now, out);
        }
    }

    /// Updates advertisements and reports of a link from configuration and layout.
    fn change(
        &mut self,
        id: InterfaceId,
        laid: &LayoutEntry,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        let now = running.now;
        let wanted = self.wanted(running, id, laid);
        let source = running.link_local(id).filter(|_| laid.link.running);
        let link = self.link(id, laid);
        if link.name != laid.name {
            link.name.clone_from(&laid.name);
        }
        let before = link.speech;
        let is_told = before != Speech::Nothing || link.advertiser.has_stale();
        let (config, speech) = match wanted {
            AdvertisementNeed::Nothing => (None, Speech::Nothing),
            AdvertisementNeed::Advertise(config) => {
                let speech = source.map_or(Speech::Nothing, Speech::Advertisement);
                (Some(config), speech)
            }
            // Prefixes that were never advertised need no withdrawal.
            AdvertisementNeed::NoPrefix(_) if !is_told => (None, Speech::Nothing),
            AdvertisementNeed::NoPrefix(config) => {
                let speech = source.map_or(Speech::Nothing, Speech::Withdrawal);
                (Some(config), speech)
            }
        };
        link.speech = speech;
        if let Some(config) = config {
            self.feed_advertiser(id, ra::Event::Configure(config), now, out);
        }
        let event = match speech {
            _ if speech == before => None,
            Speech::Advertisement(source) => Some(ra::Event::Start { source }),
            Speech::Withdrawal(source) => Some(ra::Event::Withdraw { source }),
            Speech::Nothing if laid.link.running => Some(ra::Event::Stop),
            Speech::Nothing => Some(ra::Event::LinkDown),
        };
        if let Some(event) = event {
            self.feed_advertiser(id, event, now, out);
        }
        self.keep(id, out);
        self.feed_listener(id, mld::Event::Source { address: source }, now, out);
        let link_event = match laid.link.running {
            true => mld::Event::LinkUp,
            false => mld::Event::LinkDown,
        };
        self.feed_listener(id, link_event, now, out);
    }

    /// Returns the machines of a link; creates them if necessary.
    fn link(&mut self, id: InterfaceId, laid: &LayoutEntry) -> &mut Link6 {
        let (rng, recalled) = (&mut self.rng, &mut self.recalled);
        self.links.entry(id).or_insert_with(|| {
            let seed = rng.next_u64();
            let mut advertiser = Advertiser::new(ra::Config::new(laid.link.mac), seed);
            let known = recalled.remove(&laid.item);
            let record = known.as_deref().map(prefixes_to_bytes);
            if let Some(known) = known {
                let event = ra::Event::Recall(known);
                advertiser.handle(event, Instant::ZERO, &mut Vec::new());
            }
            Box::new(Link6 {
                advertiser,
                speech: Speech::Nothing,
                listener: Listener::new(rng.next_u64()),
                item: laid.item,
                name: laid.name.clone(),
                record,
            })
        })
    }

    /// Stores the prefixes that hosts of a link know, for use after a restart (RFC 9096, 3.5).
    fn keep(&mut self, id: InterfaceId, out: &mut Effects) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let mut known = link.advertiser.known_prefixes();
        known.sort_by_key(|prefix| (prefix.network, prefix.len));
        let record = (!known.is_empty()).then(|| prefixes_to_bytes(&known));
        if record != link.record {
            link.record.clone_from(&record);
            out.push(Effect::Keep(key(link.item), record));
        }
    }

    fn feed_advertiser(
        &mut self,
        id: InterfaceId,
        event: ra::Event<'_>,
        now: Instant,
        out: &mut Effects,
    ) {
        let mut actions = Vec::new();
        if let Some(link) = self.links.get_mut(&id) {
            link.advertiser.handle(event, now, &mut actions);
        }
        self.advertise(id, actions, out);
    }

    fn advertise(&mut self, id: InterfaceId, actions: Vec<ra::Action>, out: &mut Effects) {
        for ra::Action::Send(frame) in actions {
            out.send(Outgoing::frame(id, frame));
        }
        let advertiser = self.links.get(&id).map(|link| &link.advertiser);
        let deadline = advertiser.and_then(|machine| machine.deadline());
        let at = deadline.map(|(at, _)| at);
        self.timers.set(DeadlineOwner::Advertise(id), at);
    }

    fn feed_listener(
        &mut self,
        id: InterfaceId,
        event: mld::Event<'_>,
        now: Instant,
        out: &mut Effects,
    ) {
        let mut actions = Vec::new();
        if let Some(link) = self.links.get_mut(&id) {
            link.listener.handle(event, now, &mut actions);
        }
        self.listen(id, actions, out);
    }

    fn listen(&mut self, id: InterfaceId, actions: Vec<mld::Action>, out: &mut Effects) {
        for mld::Action::Send(frame) in actions {
            out.send(Outgoing::frame(id, frame));
        }
        let listener = self.links.get(&id).map(|link| &link.listener);
        let deadline = listener.and_then(|machine| machine.deadline());
        self.timers
            .set(DeadlineOwner::Listen(id), deadline.map(|(at, _)| at));
    }
}

impl Feature for Links6 {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        let query = Match::Icmp {
            ipv6: true,
            kind: Type::LISTENER_QUERY.0,
        };
        vec![discovery(), Service::new("mld", [query], QUERIES).by_link()]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let (id, packet, now) = (heard.interface, heard.packet(), running.now);
        if heard.service == DISCOVERY {
            let from = heard.source_mac();
            self.feed_advertiser(id, ra::Event::Received { packet, from }, now, out);
        } else {
            self.feed_listener(id, mld::Event::Received { packet }, now, out);
        }
        ReceiveOutcome::Taken
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        for id in others {
            match running.layout.interfaces.get(id) {
                Some(laid) => self.change(*id, laid, running, out),
                None => {
                    let gone = self.links.remove(id).filter(|_| !self.ends);
                    if let Some(link) = gone.filter(|link| link.record.is_some()) {
                        out.push(Effect::Keep(key(link.item), None));
                    }
                    self.timers.set(DeadlineOwner::Advertise(*id), None);
                    self.timers.set(DeadlineOwner::Listen(*id), None);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(due) = self.timers.due(now) {
            match due {
                DeadlineOwner::Advertise(id) => {
                    let mut actions = Vec::new();
                    if let Some(link) = self.links.get_mut(&id) {
                        link.advertiser.tick(now, &mut actions);
                    }
                    self.advertise(id, actions, out);
                    self.keep(id, out);
                }
                DeadlineOwner::Listen(id) => {
                    let mut actions = Vec::new();
                    if let Some(link) = self.links.get_mut(&id) {
                        link.listener.tick(now, &mut actions);
                    }
                    self.listen(id, actions, out);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    fn learn(&mut self, learned: &Learned, _: Instant, out: &mut Effects) {
        let servers = NameServers6::of(learned);
        if core::mem::replace(&mut self.servers, servers.clone()) == servers {
            return;
        }
        let links = self.links.values();
        let speaks = links.filter(|link| link.speech != Speech::Nothing);
        speaks.for_each(|link| out.push(Effect::Look(link.name.clone())));
    }

    fn recall(&mut self, record: &Recalled<'_>, _: Instant) -> bool {
        let own = record.key.kind == Kind::AdvertisedPrefixes;
        let prefixes = own.then(|| prefixes_of_bytes(record.bytes)).flatten();
        let Some(prefixes) = prefixes else {
            return false;
        };
        let item = record.key.item;
        match self.links.values_mut().find(|link| link.item == item) {
            Some(link) => {
                let event = ra::Event::Recall(prefixes.clone());
                link.advertiser
                    .handle(event, Instant::ZERO, &mut Vec::new());
                link.record = Some(prefixes_to_bytes(&prefixes));
            }
            None => _ = self.recalled.insert(item, prefixes),
        }
        true
    }
}

/// Advertisement that an interface needs.
enum AdvertisementNeed {
    /// None: advertisements are disabled, or this router does not forward.
    Nothing,
    /// There is no prefix, and no `/ipv6/nd` item names this interface: an advertisement would make
    /// hosts use this router. Earlier advertisements are withdrawn by this configuration without
    /// prefixes and servers.
    NoPrefix(ra::Config),
    Advertise(ra::Config),
}

impl Links6 {
    fn wanted(
        &self,
        running: &Running<'_>,
        id: InterfaceId,
        laid: &LayoutEntry,
    ) -> AdvertisementNeed {
        let settings = &running.intent.ipv6;
        if settings.disabled || !settings.forward || laid.disabled {
            return AdvertisementNeed::Nothing;
        }
        let own = running.intent.nd.on(&laid.name).map(|(_, nd)| nd).next();
        let mut all = running.intent.nd.values();
        let nd = own
            .or_else(|| all.find(|nd| nd.interface.is_none()))
            .filter(|nd| !nd.disabled);
        let Some(nd) = nd else {
            return AdvertisementNeed::Nothing;
        };
        let prefixes = prefixes(running, id, laid);
        if nd.interface.is_none() && prefixes.is_empty() {
            let none = Vec::new();
            return AdvertisementNeed::NoPrefix(config_of(nd, laid.link.mac, none, prefixes));
        }
        // RouterOS: without its own servers `/ipv6/nd` advertises those of `/ip/dns`, including
        // dynamic ones.
        let dns = match nd.advertise_dns {
            AdvertiseDns::No => Vec::new(),
            AdvertiseDns::Router => running.link_local(id).into_iter().collect(),
            AdvertiseDns::Servers if nd.dns.is_empty() => self.servers.with(&running.intent.dns6),
            AdvertiseDns::Servers => nd.dns.clone(),
        };
        AdvertisementNeed::Advertise(config_of(nd, laid.link.mac, dns, prefixes))
    }
}

/// Returns the key of an interface's stored prefixes.
const fn key(item: ItemId) -> Key {
    Key {
        kind: Kind::AdvertisedPrefixes,
        item,
    }
}

/// Version byte of a record, and the length of a prefix in it: network, prefix length, flags (1: on
/// link, 2: autonomous), valid lifetime.
const VERSION: u8 = 1;
const PREFIX_LEN: usize = 22;

fn prefixes_to_bytes(prefixes: &[ra::Prefix]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for prefix in prefixes {
        bytes.extend(prefix.network.octets());
        let flags = u8::from(prefix.on_link) | u8::from(prefix.autonomous) << 1;
        bytes.extend([prefix.len, flags]);
        bytes.extend(prefix.valid_s.to_be_bytes());
    }
    bytes
}

/// Decodes a record. Returns `None` for other versions and for empty records.
fn prefixes_of_bytes(bytes: &[u8]) -> Option<Vec<ra::Prefix>> {
    let ([VERSION], rest) = bytes.split_first_chunk()? else {
        return None;
    };
    let (prefixes, _) = rest.as_chunks::<PREFIX_LEN>();
    let prefix = |bytes: &[u8; PREFIX_LEN]| {
        Some(ra::Prefix {
            network: Ipv6Addr::from(*bytes.first_chunk::<16>()?),
            len: bytes[16],
            on_link: bytes[17] & 1 != 0,
            autonomous: bytes[17] & 2 != 0,
            valid_s: u32::from_be_bytes(*bytes.last_chunk()?),
            preferred_s: 0,
        })
    };
    let prefixes: Vec<_> = prefixes.iter().filter_map(prefix).collect();
    (!prefixes.is_empty()).then_some(prefixes)
}

/// Returns the prefixes for a link: those of `/ipv6/nd/prefix`, then those of addresses.
fn prefixes(running: &Running<'_>, id: InterfaceId, laid: &LayoutEntry) -> Vec<ra::Prefix> {
    let usual = &running.intent.nd_usual;
    let listed = running.intent.nd_prefixes.on(&laid.name);
    let listed = listed.map(|(_, prefix)| prefix);
    let listed = listed.filter(|prefix| !prefix.disabled);
    let listed = listed.map(|prefix| ra::Prefix {
        network: prefix.network.0,
        len: prefix.network.1,
        on_link: prefix.on_link,
        autonomous: prefix.autonomous,
        valid_s: seconds(prefix.lifetimes.0.unwrap_or(usual.lifetimes.0)),
        preferred_s: seconds(prefix.lifetimes.1.unwrap_or(usual.lifetimes.1)),
    });
    let own = running.addresses.of6(id);
    let own = own.filter(|(addr, own)| own.advertise && !addr.is_unicast_link_local());
    let own = own.map(|(addr, own)| ra::Prefix {
        network: addr,
        len: own.len,
        on_link: true,
        autonomous: own.len == 64 && usual.autonomous,
        valid_s: seconds(usual.lifetimes.0),
        preferred_s: seconds(usual.lifetimes.1),
    });
    let mut prefixes: Vec<ra::Prefix> = Vec::new();
    for prefix in listed.chain(own) {
        if !prefixes.iter().any(|other| other.is_of(&prefix)) {
            prefixes.push(prefix);
        }
    }
    prefixes
}

fn seconds(lifetime: Lifetime) -> u32 {
    match lifetime {
        Lifetime::Seconds(seconds) => seconds,
        Lifetime::Infinite => ra::INFINITE_S,
    }
}

fn config_of(nd: &Nd, mac: Mac, dns: Vec<Ipv6Addr>, prefixes: Vec<ra::Prefix>) -> ra::Config {
    let millis = |span: Option<Duration>| {
        let millis = span.map_or(0, |span| span.as_millis());
        u32::try_from(millis).unwrap_or(u32::MAX)
    };
    ra::Config {
        interval_min: nd.interval.0,
        interval_max: nd.interval.1,
        delay: nd.delay,
        lifetime_s: u16::try_from(nd.lifetime.as_secs()).unwrap_or(u16::MAX),
        preference: match nd.preference {
            1 => Preference::High,
            -1 => Preference::Low,
            _ => Preference::Medium,
        },
        hop_limit: nd.hop_limit.unwrap_or(0),
        mtu: nd.mtu,
        reachable_ms: millis(nd.reachable_time),
        retransmit_ms: millis(nd.retransmit),
        managed: nd.managed,
        other: nd.other,
        advertise_mac: nd.advertise_mac,
        dns,
        nat64: nd
            .pref64
            .iter()
            .filter_map(|(network, len)| ra::Nat64Prefix::new(*network, *len))
            .collect(),
        prefixes,
        ..ra::Config::new(mac)
    }
}
