//! IPv6 on every link besides neighbour discovery: router advertisements, and reports of joined groups (MLD).

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use machine::{Duration, Machine};
use service::mld::{self, Listener};
use service::ra::{self, Advertiser};
use wire::Mac;
use wire::ndp::Preference;

use super::half::{TimerKey, send};
use super::{Control, Dad};
use crate::compile::{Laid, Moved, Relaid};
use crate::intent::{Lifetime, Nd};
use crate::touched::Touched;

/// The machines of one link.
#[derive(Debug)]
pub(crate) struct Link6 {
    advertiser: Advertiser,
    /// The link-local address that is advertised from, while it is.
    advertises: Option<Ipv6Addr>,
    listener: Listener,
}

#[cfg(test)]
impl Link6 {
    /// The address that is advertised from while one is, and what is.
    pub(super) fn advertises(&self) -> Option<(Ipv6Addr, &ra::Config)> {
        Some((self.advertises?, self.advertiser.config()))
    }
}

impl Control {
    /// Brings advertisements and reports of links in step with what is configured and in use.
    pub(super) fn change_links6(
        &mut self,
        touched: &Touched,
        relaid: &Relaid,
        moved: &BTreeMap<InterfaceId, Moved>,
    ) {
        let named = touched.advertised.iter().chain(&relaid.names);
        let named = named.filter_map(|name| self.layout.by_name.get(name));
        let others = named.chain(&relaid.seen).chain(moved.keys());
        let others: BTreeSet<_> = others.copied().collect();
        for id in others {
            match self.layout.interfaces.get(&id).cloned() {
                Some(laid) => self.change_link6(id, &laid),
                None => {
                    self.links6.remove(&id);
                    self.timers.set(TimerKey::Advertise(id), None);
                    self.timers.set(TimerKey::Listen(id), None);
                }
            }
        }
    }

    pub(super) fn change_link6(&mut self, id: InterfaceId, laid: &Laid) {
        let config = self.advertisement(id, laid);
        let source = self.link_local(id).filter(|_| laid.link.running);
        let link = self.link6(id, laid.link.mac);
        let wanted = config.as_ref().and(source);
        let before = core::mem::replace(&mut link.advertises, wanted);
        if let Some(config) = config {
            self.feed_advertiser(id, ra::Event::Configure(config));
        }
        match (before, wanted) {
            (was, is) if was == is => {}
            (_, Some(source)) => self.feed_advertiser(id, ra::Event::Start { source }),
            (_, None) if laid.link.running => self.feed_advertiser(id, ra::Event::Stop),
            (_, None) => self.feed_advertiser(id, ra::Event::LinkDown),
        }
        self.feed_listener(id, mld::Event::Source { address: source });
        let link_event = match laid.link.running {
            true => mld::Event::LinkUp,
            false => mld::Event::LinkDown,
        };
        self.feed_listener(id, link_event);
    }

    /// The machines of a link, made if they are not there.
    pub(super) fn link6(&mut self, id: InterfaceId, mac: Mac) -> &mut Link6 {
        let rng = &mut self.rng;
        self.links6.entry(id).or_insert_with(|| Link6 {
            advertiser: Advertiser::new(ra::Config::new(mac), rng.next_u64()),
            advertises: None,
            listener: Listener::new(rng.next_u64()),
        })
    }

    /// The link-local address of an interface that is in use.
    pub(super) fn link_local(&self, id: InterfaceId) -> Option<Ipv6Addr> {
        let mut own = self.addresses.of6(id).map(|(addr, _)| addr);
        own.find(|addr| {
            addr.is_unicast_link_local() && self.dad.get(&(id, *addr)) == Some(&Dad::Done)
        })
    }

    /// What an interface advertises; none when it is silent: there is nothing to tell, or this
    /// router does not forward.
    fn advertisement(&self, id: InterfaceId, laid: &Laid) -> Option<ra::Config> {
        let settings = &self.intent.ipv6;
        if settings.disabled || !settings.forward || laid.disabled {
            return None;
        }
        let own = self.intent.nd.on(&laid.name).map(|(_, nd)| nd).next();
        let mut all = self.intent.nd.values();
        let nd = own
            .or_else(|| all.find(|nd| nd.interface.is_none()))
            .filter(|nd| !nd.disabled)?;
        let prefixes = self.prefixes(id, laid);
        // Who has no prefix to tell is no router of this link, and hosts would take it for one, unless it is said
        // of this very link that it is.
        let speaks = nd.interface.is_some() || !prefixes.is_empty();
        speaks.then(|| {
            let dns = match (nd.advertise_dns, nd.dns.is_empty()) {
                (false, _) => Vec::new(),
                (true, true) => self.intent.dns6.clone(),
                (true, false) => nd.dns.clone(),
            };
            config_of(nd, laid.link.mac, dns, prefixes)
        })
    }

    /// The prefixes that a link is told: those of `/ipv6/nd/prefix`, then those of addresses.
    fn prefixes(&self, id: InterfaceId, laid: &Laid) -> Vec<ra::Prefix> {
        let usual = &self.intent.nd_usual;
        let listed = self.intent.nd_prefixes.on(&laid.name);
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
        let own = self.addresses.of6(id);
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

    /// Tells hosts that this router is none any more, before it ends (RFC 4861, 6.2.5).
    pub fn say_farewell(&mut self) {
        let advertises = |link: &&InterfaceId| self.links6[*link].advertises.is_some();
        let links: Vec<_> = self.links6.keys().filter(advertises).copied().collect();
        for id in links {
            self.feed_advertiser(id, ra::Event::Stop);
        }
    }

    fn feed_advertiser(&mut self, id: InterfaceId, event: ra::Event<'_>) {
        let mut actions = Vec::new();
        if let Some(link) = self.links6.get_mut(&id) {
            link.advertiser.handle(event, self.now, &mut actions);
        }
        self.advertise(id, actions);
    }

    pub(super) fn tick_advertiser(&mut self, id: InterfaceId) {
        let mut actions = Vec::new();
        if let Some(link) = self.links6.get_mut(&id) {
            link.advertiser.tick(self.now, &mut actions);
        }
        self.advertise(id, actions);
    }

    fn advertise(&mut self, id: InterfaceId, actions: Vec<ra::Action>) {
        for ra::Action::Send(frame) in actions {
            let (_, mut means) = self.discovery();
            send(id, frame.dst, frame.ether_type, &frame.payload, &mut means);
        }
        let advertiser = self.links6.get(&id).map(|link| &link.advertiser);
        let deadline = advertiser.and_then(|machine| machine.deadline());
        self.timers
            .set(TimerKey::Advertise(id), deadline.map(|(at, _)| at));
    }

    pub(super) fn feed_listener(&mut self, id: InterfaceId, event: mld::Event<'_>) {
        let mut actions = Vec::new();
        if let Some(link) = self.links6.get_mut(&id) {
            link.listener.handle(event, self.now, &mut actions);
        }
        self.listen(id, actions);
    }

    pub(super) fn tick_listener(&mut self, id: InterfaceId) {
        let mut actions = Vec::new();
        if let Some(link) = self.links6.get_mut(&id) {
            link.listener.tick(self.now, &mut actions);
        }
        self.listen(id, actions);
    }

    fn listen(&mut self, id: InterfaceId, actions: Vec<mld::Action>) {
        for mld::Action::Send(frame) in actions {
            let (_, mut means) = self.discovery();
            send(id, frame.dst, frame.ether_type, &frame.payload, &mut means);
        }
        let listener = self.links6.get(&id).map(|link| &link.listener);
        let deadline = listener.and_then(|machine| machine.deadline());
        self.timers
            .set(TimerKey::Listen(id), deadline.map(|(at, _)| at));
    }

    /// A packet of router discovery or of a querier arrived.
    pub(super) fn hear_link6(&mut self, id: InterfaceId, packet: &[u8], from: Mac) {
        self.feed_advertiser(id, ra::Event::Received { packet, from });
    }
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
