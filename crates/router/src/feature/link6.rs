//! IPv6 on every link besides neighbour discovery: router advertisements, and reports of joined groups (MLD).

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

use super::hear::{Heard, Hearing, Outgoing};
use super::neighbours::{DISCOVERY, discovery};
use super::{Effects, Feature};
use crate::compile::Laid;
use crate::drive::timers::Timers;
use crate::intent::{Lifetime, Nd};
use crate::running::Running;

/// Queriers ask every two minutes (RFC 3810, 9.2); who asks more often is not heard.
const QUERIES: Rate = Rate {
    per_second: 1_000,
    burst: 128,
};

/// The machines of one link.
#[derive(Debug)]
struct Link6 {
    advertiser: Advertiser,
    /// The link-local address that is advertised from, while it is.
    advertises: Option<Ipv6Addr>,
    listener: Listener,
}

/// Whose deadline it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The router advertisements of a link.
    Advertise(InterfaceId),
    /// The reports of a link's groups.
    Listen(InterfaceId),
}

/// The machines of all links.
#[derive(Debug)]
pub(crate) struct Links6 {
    links: BTreeMap<InterfaceId, Link6>,
    timers: Timers<Due>,
    rng: Rng,
}

#[cfg(test)]
impl Links6 {
    /// By link: the address that is advertised from while one is, and what is.
    pub(crate) fn advertised(
        &self,
    ) -> impl ExactSizeIterator<Item = (InterfaceId, Option<(Ipv6Addr, &ra::Config)>)> {
        self.links.iter().map(|(id, link)| {
            let from = link.advertises;
            (*id, from.map(|from| (from, link.advertiser.config())))
        })
    }
}

impl Links6 {
    /// No link. All jitter follows from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            links: BTreeMap::new(),
            timers: Timers::default(),
            rng: Rng::seeded(seed),
        }
    }

    /// A group is to be reported as received on a link.
    pub(crate) fn join(
        &mut self,
        id: InterfaceId,
        group: Ipv6Addr,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if let Some(laid) = running.layout.interfaces.get(&id) {
            self.link(id, laid.link.mac);
        }
        self.feed_listener(id, mld::Event::Join { group }, running.now, out);
    }

    /// A group is not received any more.
    pub(crate) fn leave(
        &mut self,
        id: InterfaceId,
        group: Ipv6Addr,
        now: Instant,
        out: &mut Effects,
    ) {
        self.feed_listener(id, mld::Event::Leave { group }, now, out);
    }

    /// Tells hosts that this router is none any more, before it ends (RFC 4861, 6.2.5).
    pub(crate) fn say_farewell(&mut self, now: Instant, out: &mut Effects) {
        let advertises = |(_, link): &(&InterfaceId, &Link6)| link.advertises.is_some();
        let links = self.links.iter().filter(advertises);
        let links: Vec<_> = links.map(|(id, _)| *id).collect();
        for id in links {
            self.feed_advertiser(id, ra::Event::Stop, now, out);
        }
    }

    /// Brings advertisements and reports of a link in step with what is configured and in use.
    fn change(&mut self, id: InterfaceId, laid: &Laid, running: &Running<'_>, out: &mut Effects) {
        let now = running.now;
        let config = advertisement(running, id, laid);
        let source = running.link_local(id).filter(|_| laid.link.running);
        let link = self.link(id, laid.link.mac);
        let wanted = config.as_ref().and(source);
        let before = core::mem::replace(&mut link.advertises, wanted);
        if let Some(config) = config {
            self.feed_advertiser(id, ra::Event::Configure(config), now, out);
        }
        match (before, wanted) {
            (was, is) if was == is => {}
            (_, Some(source)) => self.feed_advertiser(id, ra::Event::Start { source }, now, out),
            (_, None) if laid.link.running => self.feed_advertiser(id, ra::Event::Stop, now, out),
            (_, None) => self.feed_advertiser(id, ra::Event::LinkDown, now, out),
        }
        self.feed_listener(id, mld::Event::Source { address: source }, now, out);
        let link_event = match laid.link.running {
            true => mld::Event::LinkUp,
            false => mld::Event::LinkDown,
        };
        self.feed_listener(id, link_event, now, out);
    }

    /// The machines of a link, made if they are not there.
    fn link(&mut self, id: InterfaceId, mac: Mac) -> &mut Link6 {
        let rng = &mut self.rng;
        self.links.entry(id).or_insert_with(|| Link6 {
            advertiser: Advertiser::new(ra::Config::new(mac), rng.next_u64()),
            advertises: None,
            listener: Listener::new(rng.next_u64()),
        })
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
        self.timers.set(Due::Advertise(id), at);
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
        self.timers.set(Due::Listen(id), deadline.map(|(at, _)| at));
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
        vec![discovery(), Service::new("mld", [query], QUERIES)]
    }

    fn hear(&mut self, heard: &Heard<'_>, running: &Running<'_>, out: &mut Effects) -> Hearing {
        let (id, packet, now) = (heard.interface, heard.packet(), running.now);
        if heard.service == DISCOVERY {
            let from = heard.source_mac();
            self.feed_advertiser(id, ra::Event::Received { packet, from }, now, out);
        } else {
            self.feed_listener(id, mld::Event::Received { packet }, now, out);
        }
        Hearing::Taken
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
                    self.links.remove(id);
                    self.timers.set(Due::Advertise(*id), None);
                    self.timers.set(Due::Listen(*id), None);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Advertise(id) => {
                    let mut actions = Vec::new();
                    if let Some(link) = self.links.get_mut(&id) {
                        link.advertiser.tick(now, &mut actions);
                    }
                    self.advertise(id, actions, out);
                }
                Due::Listen(id) => {
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
}

/// What an interface advertises; none when it is silent: there is nothing to tell, or this
/// router does not forward.
fn advertisement(running: &Running<'_>, id: InterfaceId, laid: &Laid) -> Option<ra::Config> {
    let settings = &running.intent.ipv6;
    if settings.disabled || !settings.forward || laid.disabled {
        return None;
    }
    let own = running.intent.nd.on(&laid.name).map(|(_, nd)| nd).next();
    let mut all = running.intent.nd.values();
    let nd = own
        .or_else(|| all.find(|nd| nd.interface.is_none()))
        .filter(|nd| !nd.disabled)?;
    let prefixes = prefixes(running, id, laid);
    // Who has no prefix to tell is no router of this link, and hosts would take it for one, unless it is said
    // of this very link that it is.
    let speaks = nd.interface.is_some() || !prefixes.is_empty();
    speaks.then(|| {
        let dns = match (nd.advertise_dns, nd.dns.is_empty()) {
            (false, _) => Vec::new(),
            (true, true) => running.intent.dns6.clone(),
            (true, false) => nd.dns.clone(),
        };
        config_of(nd, laid.link.mac, dns, prefixes)
    })
}

/// The prefixes that a link is told: those of `/ipv6/nd/prefix`, then those of addresses.
fn prefixes(running: &Running<'_>, id: InterfaceId, laid: &Laid) -> Vec<ra::Prefix> {
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
