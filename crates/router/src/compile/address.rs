//! Compiles addresses: own addresses and connected routes.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use service::neighbour::{Discovery, Family as _};
use wire::Mac;

use super::layout::Layout;
use crate::intent::{Intent, ItemId};
use crate::rib::{Check, Family, Gateway, MAIN, Net, Offer, Protocol, V4, V6};

/// The scope of a connected network (RouterOS).
const CONNECTED_SCOPE: u8 = 10;
/// The scope that the gateways of dynamic routes are resolved by; they have none to resolve.
const CONNECTED_TARGET: u8 = 5;

/// An IPv4 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own4 {
    /// The length of its prefix.
    pub len: u8,
    /// The network that is connected by it.
    pub network: Net<V4>,
    /// Its item.
    pub item: ItemId,
}

/// An IPv6 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own6 {
    /// The length of its prefix.
    pub len: u8,
    /// Its item; none for a link-local address that the interface has by itself.
    pub item: Option<ItemId>,
    /// Whether it waits for duplicate address detection.
    pub detect: bool,
    /// Whether hosts are told the prefix.
    pub advertise: bool,
}

/// All addresses of this router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// IPv4, by interface.
    pub ipv4: BTreeMap<(InterfaceId, Ipv4Addr), Own4>,
    /// IPv6, by interface.
    pub ipv6: BTreeMap<(InterfaceId, Ipv6Addr), Own6>,
    /// Items of `/ip/address` whose interface is not there.
    pub invalid4: BTreeSet<ItemId>,
    /// Items of `/ipv6/address` whose interface is not there.
    pub invalid6: BTreeSet<ItemId>,
}

/// What tells the dynamic routes of addresses apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferKey<F: Family> {
    /// A connected network on an interface.
    Connected(InterfaceId, Net<F>),
    /// One of this router's own addresses.
    Local(F::Addr),
    /// A broadcast address.
    Broadcast(F::Addr),
}

impl Addresses {
    /// The addresses that the configuration comes to on these interfaces.
    pub fn new(intent: &Intent, layout: &Layout) -> Self {
        let mut addresses = Self::default();
        for (item, address) in &intent.addresses4 {
            let Some((interface, laid)) = layout.named(&address.interface) else {
                addresses.invalid4.insert(*item);
                continue;
            };
            if address.disabled || laid.disabled {
                continue;
            }
            // RouterOS: the network of a /32 is the far end of a point-to-point link.
            let network = Net::new(address.network, address.len);
            let own = Own4 {
                len: address.len,
                network,
                item: *item,
            };
            addresses.ipv4.insert((interface, address.addr), own);
        }
        if !intent.ipv6.disabled {
            addresses.add_ipv6(intent, layout);
        }
        addresses
    }

    fn add_ipv6(&mut self, intent: &Intent, layout: &Layout) {
        let mut wants_link_local = BTreeSet::new();
        for (item, address) in &intent.addresses6 {
            let Some((interface, laid)) = layout.named(&address.interface) else {
                self.invalid6.insert(*item);
                continue;
            };
            if address.disabled || laid.disabled {
                continue;
            }
            if address.auto_link_local {
                wants_link_local.insert(interface);
            }
            let addr = if address.eui64 {
                eui64(address.addr, laid.link.mac)
            } else {
                address.addr
            };
            let own = Own6 {
                len: address.len,
                item: Some(*item),
                detect: !address.no_dad && !laid.loopback,
                advertise: address.advertise,
            };
            self.ipv6.insert((interface, addr), own);
        }
        for (id, laid) in &layout.interfaces {
            let has_one = self.of6(*id).any(|(addr, _)| addr.is_unicast_link_local());
            let wanted = !intent.ipv6.no_link_local || wants_link_local.contains(id);
            if laid.disabled || has_one || !wanted || laid.link.mac == Mac::default() {
                continue;
            }
            let prefix = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
            let own = Own6 {
                len: 64,
                item: None,
                detect: true,
                advertise: false,
            };
            self.ipv6.insert((*id, eui64(prefix, laid.link.mac)), own);
        }
    }

    /// The IPv4 addresses of an interface.
    pub fn of4(&self, interface: InterfaceId) -> impl Iterator<Item = (Ipv4Addr, &Own4)> {
        let first = (interface, Ipv4Addr::UNSPECIFIED);
        let last = (interface, Ipv4Addr::BROADCAST);
        self.ipv4.range(first..=last).map(|((_, a), own)| (*a, own))
    }

    /// The IPv6 addresses of an interface.
    pub fn of6(&self, interface: InterfaceId) -> impl Iterator<Item = (Ipv6Addr, &Own6)> {
        let first = (interface, Ipv6Addr::UNSPECIFIED);
        let last = (interface, Ipv6Addr::from(u128::MAX));
        self.ipv6.range(first..=last).map(|((_, a), own)| (*a, own))
    }

    /// The routes that come with the IPv4 addresses.
    pub fn offers4(&self) -> BTreeMap<OfferKey<V4>, Offer<V4>> {
        let mut offers = BTreeMap::new();
        for ((interface, addr), own) in &self.ipv4 {
            connect(&mut offers, *interface, own.network, *addr);
            local(&mut offers, *interface, *addr);
            // Networks of two hosts have no broadcast address (RFC 3021).
            if own.len <= 30 {
                let last = Net::<V4>::new(*addr, own.len).last();
                let key = OfferKey::Broadcast(last);
                offers.entry(key).or_insert_with(|| {
                    own_route(Net::host(last), Gateway::Broadcast(*interface), *interface)
                });
            }
        }
        offers
    }

    /// Whether an IPv6 address is one that the routers of a network share, and none of this router's own.
    pub fn is_shared6(&self, addr: Ipv6Addr) -> bool {
        let mut all = self.ipv6.iter();
        all.any(|((_, own), of)| Discovery::anycast(*own, of.len) == Some(addr))
            && !self.ipv6.keys().any(|(_, own)| *own == addr)
    }

    /// The routes that come with the IPv6 addresses: own ones with those that are in use, together with those that
    /// the routers of their networks share if this is one (RFC 4291, 2.6.1), and networks already
    /// while duplicates are looked for, as packets to others there can wait for that. Link-local networks are
    /// not among them: every link has the same, and no table tells them apart.
    pub fn offers6(
        &self,
        forward: bool,
        in_use: impl Fn(InterfaceId, Ipv6Addr) -> bool,
        is_duplicate: impl Fn(InterfaceId, Ipv6Addr) -> bool,
    ) -> BTreeMap<OfferKey<V6>, Offer<V6>> {
        let mut offers = BTreeMap::new();
        for ((interface, addr), own) in &self.ipv6 {
            if !addr.is_unicast_link_local() && !is_duplicate(*interface, *addr) {
                let network = Net::new(*addr, own.len);
                connect(&mut offers, *interface, network, *addr);
            }
            if !in_use(*interface, *addr) {
                continue;
            }
            local(&mut offers, *interface, *addr);
            if let Some(anycast) = Discovery::anycast(*addr, own.len).filter(|_| forward) {
                local(&mut offers, *interface, anycast);
            }
        }
        offers
    }
}

fn connect<F: Family>(
    offers: &mut BTreeMap<OfferKey<F>, Offer<F>>,
    interface: InterfaceId,
    network: Net<F>,
    addr: F::Addr,
) {
    let key = OfferKey::Connected(interface, network);
    offers.entry(key).or_insert_with(|| Offer {
        protocol: Protocol::Connected,
        pref_src: Some(addr),
        ..own_route(network, Gateway::Interface(interface), interface)
    });
}

/// One route per address, whichever interface has it: two would share the flows.
fn local<F: Family>(
    offers: &mut BTreeMap<OfferKey<F>, Offer<F>>,
    interface: InterfaceId,
    addr: F::Addr,
) {
    offers
        .entry(OfferKey::Local(addr))
        .or_insert_with(|| own_route(Net::host(addr), Gateway::Local(interface), interface));
}

fn own_route<F: Family>(net: Net<F>, gateway: Gateway<F>, interface: InterfaceId) -> Offer<F> {
    Offer {
        table: MAIN,
        net,
        gateways: vec![gateway],
        distance: 0,
        scope: CONNECTED_SCOPE,
        target_scope: CONNECTED_TARGET,
        check: Check::None,
        protocol: Protocol::Local,
        pref_src: None,
        owner: interface.0,
    }
}

/// The address of this prefix whose last 64 bits are made from the link address (RFC 4291,
/// appendix A).
pub fn eui64(prefix: Ipv6Addr, mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let id = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from(u128::from(prefix) >> 64 << 64 | u128::from(id))
}
