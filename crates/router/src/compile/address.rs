//! Computes local addresses and connected routes from the configured addresses.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use service::neighbour::{Discovery, Family as _};
use wire::Mac;

use super::layout::{Layout, LayoutEntry};
use crate::intent::{Intent, ItemId, Name};
use crate::rib::{Check, Family, Gateway, MAIN, Net, Offer, Protocol, V4, V6};

/// Scope of a connected network (RouterOS).
const CONNECTED_SCOPE: u8 = 10;
/// Target scope of dynamic routes; they have no gateways to resolve.
const CONNECTED_TARGET: u8 = 5;

/// A local IPv4 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own4 {
    /// Prefix length.
    pub len: u8,
    /// Connected network of the address.
    pub network: Net<V4>,
    /// Its item.
    pub item: ItemId,
}

/// State of duplicate address detection of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dad {
    /// In progress: the address is not used yet.
    Tentative,
    /// Passed: the address is used.
    Done,
    /// Failed: another host uses the address, and this router does not.
    Failed,
}

/// A local IPv6 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own6 {
    /// Prefix length.
    pub len: u8,
    /// Its item; `None` for an automatic link-local address.
    pub item: Option<ItemId>,
    /// True if it needs duplicate address detection.
    pub detect: bool,
    /// True if its prefix is advertised to hosts.
    pub advertise: bool,
}

/// All local addresses of the router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// IPv4, by interface.
    pub ipv4: BTreeMap<(InterfaceId, Ipv4Addr), Own4>,
    /// IPv6, by interface.
    pub ipv6: BTreeMap<(InterfaceId, Ipv6Addr), Own6>,
    /// Number of interfaces with each IPv6 address.
    owners6: BTreeMap<Ipv6Addr, u32>,
    /// Number of IPv6 addresses in the network of each anycast address.
    anycast6: BTreeMap<Ipv6Addr, u32>,
    /// Items of `/ip/address` whose interface does not exist.
    pub invalid4: BTreeSet<ItemId>,
    /// Items of `/ipv6/address` whose interface does not exist.
    pub invalid6: BTreeSet<ItemId>,
}

/// Addresses of one interface before and after a change.
#[derive(Debug, Default)]
pub struct Moved {
    /// IPv4, before.
    pub before4: BTreeMap<Ipv4Addr, Own4>,
    /// IPv4, now.
    pub now4: BTreeMap<Ipv4Addr, Own4>,
    /// IPv6, before.
    pub before6: BTreeMap<Ipv6Addr, Own6>,
    /// IPv6, now.
    pub now6: BTreeMap<Ipv6Addr, Own6>,
}

/// Key of a dynamic route of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferKey<F: Family> {
    /// A connected network on an interface.
    Connected(InterfaceId, Net<F>),
    /// A local address.
    Local(F::Addr),
    /// A broadcast address.
    Broadcast(F::Addr),
}

impl Addresses {
    /// Computes the addresses of all interfaces.
    pub fn new(intent: &Intent, layout: &Layout) -> Self {
        let mut addresses = Self::default();
        for id in layout.interfaces.keys() {
            addresses.work_out(*id, intent, layout);
        }
        let names = intent.addresses4.grounds();
        for name in names.chain(intent.addresses6.grounds()) {
            addresses.find_invalid(name, intent, layout);
        }
        addresses
    }

    /// Recomputes the addresses of one interface, which may have been removed.
    pub fn work_out(&mut self, id: InterfaceId, intent: &Intent, layout: &Layout) -> Moved {
        let laid = layout.interfaces.get(&id);
        let laid = laid.filter(|laid| !laid.disabled && !laid.waits && !laid.is_slave());
        // If several interfaces have one name, the addresses belong to the first.
        let laid = laid.filter(|laid| layout.by_name.get(&laid.name) == Some(&id));
        let names = layout.names_of(id, intent);
        let moved = Moved {
            before4: self.of4(id).map(|(addr, own)| (addr, *own)).collect(),
            now4: laid.map(|_| of4(&names, intent)).unwrap_or_default(),
            before6: self.of6(id).map(|(addr, own)| (addr, *own)).collect(),
            now6: laid
                .map(|laid| of6(laid, &names, intent))
                .unwrap_or_default(),
        };
        for addr in moved.before4.keys() {
            self.ipv4.remove(&(id, *addr));
        }
        for (addr, own) in &moved.before6 {
            self.ipv6.remove(&(id, *addr));
            self.count6(*addr, own.len, false);
        }
        let now4 = moved.now4.iter();
        self.ipv4
            .extend(now4.map(|(addr, own)| ((id, *addr), *own)));
        for (addr, own) in &moved.now6 {
            self.count6(*addr, own.len, true);
        }
        let now6 = moved.now6.iter();
        self.ipv6
            .extend(now6.map(|(addr, own)| ((id, *addr), *own)));
        moved
    }

    /// Updates which items naming an interface are invalid, because the interface does not exist.
    pub fn find_invalid(&mut self, name: &str, intent: &Intent, layout: &Layout) {
        let is_there = layout.by_name.contains_key(name);
        let items = intent.addresses4.on(name).map(|(item, _)| item);
        note(&mut self.invalid4, items, !is_there);
        let is_valid = is_there || intent.ipv6.disabled;
        let items = intent.addresses6.on(name).map(|(item, _)| item);
        note(&mut self.invalid6, items, !is_valid);
    }

    /// Removes these items from the invalid ones: they may have been removed.
    pub fn forget(&mut self, items4: &BTreeSet<ItemId>, items6: &BTreeSet<ItemId>) {
        note(&mut self.invalid4, items4.iter().copied(), false);
        note(&mut self.invalid6, items6.iter().copied(), false);
    }

    /// Returns the IPv4 addresses of an interface.
    pub fn of4(&self, interface: InterfaceId) -> impl Iterator<Item = (Ipv4Addr, &Own4)> {
        let first = (interface, Ipv4Addr::UNSPECIFIED);
        let last = (interface, Ipv4Addr::BROADCAST);
        self.ipv4.range(first..=last).map(|((_, a), own)| (*a, own))
    }

    /// Returns the IPv6 addresses of an interface.
    pub fn of6(&self, interface: InterfaceId) -> impl Iterator<Item = (Ipv6Addr, &Own6)> {
        let first = (interface, Ipv6Addr::UNSPECIFIED);
        let last = (interface, Ipv6Addr::from(u128::MAX));
        self.ipv6.range(first..=last).map(|((_, a), own)| (*a, own))
    }

    /// Whether an IPv6 address is the anycast address of a network's routers, and not an address of this router.
    pub fn is_shared6(&self, addr: Ipv6Addr) -> bool {
        self.anycast6.contains_key(&addr) && !self.owners6.contains_key(&addr)
    }

    /// Counts an added or removed IPv6 address.
    fn count6(&mut self, addr: Ipv6Addr, len: u8, is_added: bool) {
        count(&mut self.owners6, addr, is_added);
        if let Some(anycast) = Discovery::anycast(addr, len) {
            count(&mut self.anycast6, anycast, is_added);
        }
    }
}

fn count(counts: &mut BTreeMap<Ipv6Addr, u32>, addr: Ipv6Addr, is_added: bool) {
    let users = counts.entry(addr).or_default();
    *users = match is_added {
        true => *users + 1,
        false => users.saturating_sub(1),
    };
    if *users == 0 {
        counts.remove(&addr);
    }
}

fn note(set: &mut BTreeSet<ItemId>, items: impl Iterator<Item = ItemId>, holds: bool) {
    for item in items {
        match holds {
            true => _ = set.insert(item),
            false => _ = set.remove(&item),
        }
    }
}

/// Computes the IPv4 addresses of an interface from its names.
fn of4(names: &[Name], intent: &Intent) -> BTreeMap<Ipv4Addr, Own4> {
    let items = names.iter().flat_map(|name| intent.addresses4.on(name));
    let items = items.filter(|(_, address)| !address.disabled);
    let own = items.map(|(item, address)| {
        let own = Own4 {
            len: address.len,
            // RouterOS: the network of a /32 is the far end of a point-to-point link.
            network: Net::new(address.network, address.len),
            item,
        };
        (address.addr, own)
    });
    own.collect()
}

/// Computes the IPv6 addresses of an interface, including its automatic link-local address.
fn of6(laid: &LayoutEntry, names: &[Name], intent: &Intent) -> BTreeMap<Ipv6Addr, Own6> {
    let mut made = BTreeMap::new();
    if intent.ipv6.disabled {
        return made;
    }
    let mut wants_link_local = !intent.ipv6.no_link_local;
    let items = names.iter().flat_map(|name| intent.addresses6.on(name));
    for (item, address) in items {
        if address.disabled {
            continue;
        }
        wants_link_local |= address.auto_link_local;
        let addr = match address.eui64 {
            true => eui64(address.addr, laid.link.mac),
            false => address.addr,
        };
        let own = Own6 {
            len: address.len,
            item: Some(item),
            detect: !address.no_dad && !laid.loopback && !laid.shared,
            advertise: address.advertise,
        };
        made.insert(addr, own);
    }
    let has_one = made.keys().any(Ipv6Addr::is_unicast_link_local);
    if wants_link_local && !has_one && laid.link.mac != Mac::default() {
        let prefix = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
        let own = Own6 {
            len: 64,
            item: None,
            detect: !laid.shared,
            advertise: false,
        };
        made.insert(eui64(prefix, laid.link.mac), own);
    }
    made
}

/// Returns the routes of an IPv4 address: to its network, to the address, and to the broadcast address.
pub fn keys4(interface: InterfaceId, addr: Ipv4Addr, own: &Own4) -> Vec<OfferKey<V4>> {
    let mut keys = vec![
        OfferKey::Connected(interface, own.network),
        OfferKey::Local(addr),
    ];
    // Networks of two hosts have no broadcast address (RFC 3021).
    if own.len <= 30 {
        let last = Net::<V4>::new(addr, own.len).last();
        keys.push(OfferKey::Broadcast(last));
    }
    keys
}

/// Returns the routes of an IPv6 address. A usable address has a route to itself and, if this router forwards, to the
/// subnet-router anycast address of its network (RFC 4291, 2.6.1). The network has a route during duplicate address
/// detection already, as packets to other hosts can wait. Link-local networks have no route: every link has the same
/// network, and tables cannot distinguish them.
pub fn keys6(
    interface: InterfaceId,
    addr: Ipv6Addr,
    own: &Own6,
    forward: bool,
    dad: Dad,
) -> Vec<OfferKey<V6>> {
    let mut keys = Vec::new();
    if !addr.is_unicast_link_local() && dad != Dad::Failed {
        keys.push(OfferKey::Connected(interface, Net::new(addr, own.len)));
    }
    if dad == Dad::Done {
        keys.push(OfferKey::Local(addr));
        let anycast = Discovery::anycast(addr, own.len).filter(|_| forward);
        keys.extend(anycast.map(OfferKey::Local));
    }
    keys
}

/// Builds the route for a key of an interface address.
pub fn offer<F: Family>(key: OfferKey<F>, interface: InterfaceId, addr: F::Addr) -> Offer<F> {
    match key {
        OfferKey::Connected(interface, network) => Offer {
            protocol: Protocol::Connected,
            pref_src: Some(addr),
            ..own_route(network, Gateway::Interface(interface), interface)
        },
        OfferKey::Local(to) => own_route(Net::host(to), Gateway::Local(interface), interface),
        OfferKey::Broadcast(to) => {
            own_route(Net::host(to), Gateway::Broadcast(interface), interface)
        }
    }
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

/// Builds the address from this prefix and the link address (RFC 4291, appendix A).
pub fn eui64(prefix: Ipv6Addr, mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let id = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from(u128::from(prefix) >> 64 << 64 | u128::from(id))
}
