//! Static routes of the main table: what leads to an address.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Value};

use crate::config::{Config, shown};

/// What leads to an address.
#[derive(Clone, Copy)]
pub(crate) enum Lead<'a> {
    /// A static route.
    Route(&'a Item),
    /// The network of an address of the router.
    Network(&'a Item),
}

/// Static routes of the main table and the networks of the router's own addresses, by prefix.
pub(crate) struct Routes<'a> {
    leads: BTreeMap<IpNet, Lead<'a>>,
    /// Prefix lengths in use: a look-up tries no others.
    lengths: BTreeSet<u8>,
}

impl<'a> Routes<'a> {
    pub(crate) fn of(config: &Config<'a>) -> Self {
        let mut leads = BTreeMap::new();
        let of = |menus: [&str; 2]| menus.map(|menu| config.enabled(menu)).into_iter().flatten();
        for route in of(["/ip/route", "/ipv6/route"]) {
            let is_main = matches!(shown(route, "routing-table").as_str(), "" | "main");
            if let Some(net) = net(route, "dst-address").filter(|_| is_main) {
                leads.insert(net, Lead::Route(route));
            }
        }
        for address in of(["/ip/address", "/ipv6/address"]) {
            let net = net(address, "address");
            leads.extend(net.map(|net| (net, Lead::Network(address))));
        }
        let lengths = leads.keys().map(IpNet::prefix_len).collect();
        Self { leads, lengths }
    }

    /// Returns the route or network with the longest prefix that contains an address.
    pub(crate) fn towards(&self, to: IpAddr) -> Option<Lead<'a>> {
        let lengths = self.lengths.iter().rev();
        // A length of IPv6 is none of IPv4.
        let mut nets = lengths.filter_map(|len| Some(IpNet::new(to, *len).ok()?.trunc()));
        nets.find_map(|net| self.leads.get(&net)).copied()
    }

    /// Returns the name of the interface by which packets to an address leave; `None` if no static configuration says
    /// so.
    pub(crate) fn interface_towards(&self, to: IpAddr) -> Option<String> {
        let interface = |lead| match lead {
            Lead::Network(address) => Ok(shown(address, "interface")),
            Lead::Route(route) => Err(shown(route, "gateway")),
        };
        match interface(self.towards(to)?) {
            Ok(interface) => Some(interface),
            // The gateway is an interface, or an address of a network of the router.
            Err(gateway) => match gateway.parse() {
                Err(_) => Some(gateway),
                Ok(gateway) => interface(self.towards(gateway)?).ok(),
            },
        }
    }
}

/// Returns the network of a property, without host bits.
pub(crate) fn net(item: &Item, property: &str) -> Option<IpNet> {
    let net = item.get(property).and_then(Value::as_prefix)?;
    Some(net.trunc())
}

/// Returns the address of a property; `None` for the unspecified address.
pub(crate) fn address(item: &Item, property: &str) -> Option<IpAddr> {
    let address = match item.get(property)? {
        Value::Address(address) => *address,
        other => other.to_string().parse().ok()?,
    };
    (!address.is_unspecified()).then_some(address)
}
