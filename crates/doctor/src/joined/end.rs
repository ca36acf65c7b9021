//! Routers, the items of a tunnel's end, and pairs of ends.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Store};

use super::difference::{Difference, PublicKeys, Value};
use crate::config::{Config, shown, title};
use crate::rule::Severity;

/// Menus of interfaces that get their addresses at run time.
const ASSIGNED: [&str; 4] = [
    "/ip/dhcp-client",
    "/interface/pppoe-client",
    "/interface/lte",
    "/interface/ppp-client",
];

/// A router with its addresses.
#[derive(Debug)]
pub(super) struct Router<'a> {
    /// Index of the configuration: 0 or 1.
    pub(super) index: usize,
    pub(super) config: Config<'a>,
    pub(super) public: &'a PublicKeys,
    addresses: BTreeSet<IpAddr>,
    /// True if a provider assigns addresses.
    pub(super) is_assigned: bool,
}

/// Relation of a configured remote address to the other router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aim {
    /// An address of the other router.
    Hit,
    /// A name, no address, a wide prefix, or the other router gets its addresses at run time or stands behind NAT.
    Possible,
    /// Address unknown to the other router.
    Miss,
}

impl<'a> Router<'a> {
    pub(super) fn new(index: usize, store: &'a Store, public: &'a PublicKeys) -> Self {
        let config = Config::of(store);
        let addresses = ["/ip/address", "/ipv6/address"].map(|menu| config.enabled(menu));
        let addresses = addresses.iter().flatten();
        let addresses = addresses
            .filter_map(|item| item.get("address")?.as_prefix())
            .map(|net| net.addr())
            .collect();
        let is_assigned = ASSIGNED.iter().any(|menu| !config.enabled(menu).is_empty());
        Self {
            index,
            config,
            public,
            addresses,
            is_assigned,
        }
    }

    /// Returns the relation of a remote address, prefix or name to this router.
    pub(super) fn aim(&self, remote: &str) -> Aim {
        let prefix = match remote.parse::<IpNet>() {
            Ok(net) => Some(net),
            Err(_) => remote.parse::<IpAddr>().ok().map(IpNet::from),
        };
        let Some(net) = prefix.filter(|net| !net.addr().is_unspecified()) else {
            return Aim::Possible;
        };
        if self.addresses.iter().any(|own| net.contains(own)) {
            return Aim::Hit;
        }
        let is_hidden =
            !is_private(net.addr()) && self.addresses.iter().all(|own| is_private(*own));
        match self.is_assigned || is_hidden {
            true => Aim::Possible,
            false => Aim::Miss,
        }
    }

    /// Returns the networks of an interface's addresses, with host bits.
    pub(super) fn networks(&self, interface: &str) -> Vec<IpNet> {
        let menus = ["/ip/address", "/ipv6/address"];
        let items = menus.iter().flat_map(|menu| self.config.enabled(menu));
        let items = items.filter(|item| item.text("interface") == interface);
        items
            .filter_map(|item| item.get("address")?.as_prefix())
            .collect()
    }

    /// Returns the item of a menu with this name.
    pub(super) fn named(&self, menu: &str, name: &str) -> Option<&'a Item> {
        let mut items = self.config.enabled(menu).into_iter();
        items.find(|item| item.name() == Some(name))
    }
}

/// Returns true for addresses that the internet does not route: RFC 1918, RFC 6598, RFC 4193 and link-local ones.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            address.is_private() || address.is_link_local() || address.is_loopback() || is_shared
        }
        IpAddr::V6(address) => {
            address.is_unique_local() || address.is_unicast_link_local() || address.is_loopback()
        }
    }
}

/// Part of a tunnel's end that an item has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The item that stands for the tunnel: interface, peer, policy or client.
    Tunnel,
    /// Interface of a WireGuard peer.
    Interface,
    /// IPsec or PPP profile.
    Profile,
    /// IPsec identity.
    Identity,
    /// IPsec proposal.
    Proposal,
    /// Server of PPP sessions.
    Server,
    /// User of PPP sessions.
    Secret,
    /// Profile of the user of PPP sessions.
    UserProfile,
    /// Remote end of a VXLAN interface.
    Vtep,
}

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub(super) struct End<'a> {
    pub(super) router: usize,
    items: Vec<(Role, &'a Item)>,
    /// Networks of the addresses of the tunnel's interface, with host bits.
    pub(super) networks: Vec<IpNet>,
    /// Public key of the WireGuard interface, if its private key is known.
    pub(super) public_key: Option<String>,
    /// Relation of the remote address to the other router.
    pub(super) aim: Aim,
    /// Remote address as configured.
    pub(super) remote: String,
    /// Key of this end, and key that it expects of the other end. Ends with matching keys belong together.
    pub(super) keys: [String; 2],
}

impl<'a> End<'a> {
    /// Creates an end of the router at `router` for a tunnel item that aims at another router.
    pub(super) fn new(router: usize, tunnel: &'a Item, remote: String, far: &Router<'_>) -> Self {
        Self {
            router,
            items: vec![(Role::Tunnel, tunnel)],
            networks: Vec::new(),
            public_key: None,
            aim: far.aim(&remote),
            remote,
            keys: Default::default(),
        }
    }

    /// Adds an item, if there is one.
    pub(super) fn with(mut self, role: Role, item: Option<&'a Item>) -> Self {
        self.items.extend(item.map(|item| (role, item)));
        self
    }

    /// Returns the item of a role.
    pub(super) fn item(&self, role: Role) -> Option<&'a Item> {
        let mut items = self.items.iter();
        items.find(|(own, _)| *own == role).map(|(_, item)| *item)
    }

    /// Returns the item that stands for the end.
    pub(super) fn tunnel(&self) -> &'a Item {
        self.items[0].1
    }

    /// Returns the name of the end: an IPsec policy bears its selector.
    pub(super) fn title(&self) -> String {
        let item = self.tunnel();
        if item.menu.path == "/ip/ipsec/policy" {
            let [source, destination] =
                ["src-address", "dst-address"].map(|name| shown(item, name));
            return format!("{source} to {destination}");
        }
        title(item)
    }
}

/// Both ends of a tunnel.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    /// Ends in the order of the configurations.
    pub(super) ends: [End<'a>; 2],
    /// Index of the end that terms name first: the client, or the end of configuration 0.
    pub(super) lead: usize,
}

impl<'a> Pair<'a> {
    /// Joins two ends of different routers; `first` is the first end of terms.
    pub(super) fn new(first: End<'a>, second: End<'a>) -> Self {
        let lead = first.router;
        let ends = match lead {
            0 => [first, second],
            _ => [second, first],
        };
        Self { ends, lead }
    }

    pub(super) fn first(&self) -> &End<'a> {
        &self.ends[self.lead]
    }

    pub(super) fn second(&self) -> &End<'a> {
        &self.ends[1 - self.lead]
    }

    /// Returns the end whose remote address the peer router lacks: NAT translates it, or the peer gets it at run time.
    pub(super) fn beyond_nat(&self) -> Option<&End<'a>> {
        let mut ends = self.ends.iter();
        ends.find(|end| end.remote.parse::<IpAddr>().is_ok() && end.aim == Aim::Possible)
    }

    pub(super) fn describe(&self, kind: &str) -> String {
        let names = format!(
            "{kind} {} and {}",
            self.ends[0].title(),
            self.ends[1].title()
        );
        match self.beyond_nat() {
            Some(end) => format!(
                "{names}: the other end gets {} at run time, or NAT has it",
                end.remote
            ),
            None => names,
        }
    }
}

/// An end without a counterpart.
#[derive(Debug)]
pub(super) struct Alone<'a> {
    pub(super) end: End<'a>,
    pub(super) property: &'static str,
    pub(super) cause: &'static str,
}

impl Alone<'_> {
    pub(super) fn difference(&self, kind: &str) -> Difference {
        let item = self.end.tunnel();
        let value = Value {
            item: (item.menu.path, item.id),
            shown: format!("{}={}", self.property, shown(item, self.property)),
        };
        let mut values = [None, None];
        values[self.end.router] = Some(value);
        Difference {
            tunnel: format!("{kind} {}", self.end.title()),
            severity: Severity::Error,
            cause: self.cause,
            values,
            fix: None,
        }
    }
}

/// Ends that belong together, and ends that aim at the other router without a counterpart.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    pub(super) joined: Vec<Pair<'a>>,
    pub(super) alone: Vec<Alone<'a>>,
}
