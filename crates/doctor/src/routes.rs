//! Static routes and own networks: where packets to an address leave, by the longest prefix.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Value};

use crate::config::{Config, shown};

/// Leads to an address.
#[derive(Clone, Copy, Debug)]
pub enum Lead<'a> {
    /// The network of an address of the router.
    Own(&'a Item),
    /// A static route.
    Route(&'a Item),
}

/// Own networks and static routes of table main. A look-up costs as much as there are prefix lengths in use.
#[derive(Debug)]
pub struct Routes<'a> {
    /// Routes of each network in item order, then addresses.
    leads: BTreeMap<IpNet, Vec<Lead<'a>>>,
    lengths: BTreeSet<u8>,
}

impl<'a> Routes<'a> {
    /// Indexes the routes and networks of a configuration.
    pub fn of(config: &Config<'a>) -> Self {
        let mut leads: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let routes = ["/ip/route", "/ipv6/route"].map(|menu| config.enabled(menu));
        for route in routes.into_iter().flatten() {
            let is_main = matches!(shown(route, "routing-table").as_str(), "" | "main");
            if let Some(net) = network(route, "dst-address").filter(|_| is_main) {
                leads.entry(net).or_default().push(Lead::Route(route));
            }
        }
        let own = own_networks(config).into_iter().chain(far_hosts(config));
        for (address, net) in own {
            leads.entry(net).or_default().push(Lead::Own(address));
        }
        let lengths = leads.keys().map(IpNet::prefix_len).collect();
        Self { leads, lengths }
    }

    /// Returns true if a prefix contains an own network, or that of a static route.
    pub(crate) fn has_within(&self, net: IpNet) -> bool {
        // Prefixes are sorted by address, then by length: those within `net` follow it.
        let mut nets = self.leads.range(net..);
        nets.next().is_some_and(|(own, _)| net.contains(own))
    }

    /// Iterates over the networks and the destinations of routes, sorted.
    pub fn networks(&self) -> impl Iterator<Item = &IpNet> {
        self.leads.keys()
    }

    /// Returns the longest prefix of an address, and what has it.
    pub fn towards(&self, to: IpAddr) -> Option<(IpNet, Lead<'a>)> {
        let lengths = self.lengths.iter().rev();
        // A length of IPv6 is none of IPv4.
        let mut nets = lengths.filter_map(|len| Some(IpNet::new(to, *len).ok()?.trunc()));
        nets.find_map(|net| Some((net, *self.leads.get(&net)?.last()?)))
    }

    /// Returns the name of the interface by which packets to an address leave; `None` if no static configuration says
    /// so.
    pub fn interface_towards(&self, to: IpAddr) -> Option<String> {
        let (net, _) = self.towards(to)?;
        self.interfaces(&net).pop()
    }

    /// Returns the names of the interfaces of a network from [`Self::networks`]: several for several routes, such as
    /// backup routes. Empty without gateway, and if no static configuration leads to the gateway.
    pub fn interfaces(&self, net: &IpNet) -> Vec<String> {
        let leads = self.leads.get(net).map_or(&[][..], |leads| leads);
        let own = leads.iter().filter_map(|lead| match lead {
            Lead::Own(address) => Some(shown(address, "interface")),
            Lead::Route(_) => None,
        });
        let own: Vec<_> = own.collect();
        if !own.is_empty() {
            return own;
        }
        let gateways = leads.iter().map(|lead| match lead {
            Lead::Route(route) => shown(route, "gateway"),
            Lead::Own(_) => String::new(),
        });
        let interfaces = gateways.flat_map(|gateways| {
            let gateways = gateways.split(',');
            let interfaces = gateways.filter_map(|gateway| self.interface_of(gateway));
            interfaces.collect::<Vec<_>>()
        });
        interfaces.collect()
    }

    /// Returns the interface towards a gateway such as `ether1`, `192.0.2.1` or `192.0.2.1%ether1`.
    fn interface_of(&self, gateway: &str) -> Option<String> {
        if let Some((_, interface)) = gateway.split_once('%') {
            return Some(interface.to_owned());
        }
        match gateway.parse() {
            Err(_) => (!gateway.is_empty()).then(|| gateway.to_owned()),
            Ok(gateway) => match self.towards(gateway)? {
                (_, Lead::Own(address)) => Some(shown(address, "interface")),
                (_, Lead::Route(_)) => None,
            },
        }
    }
}

/// Returns the network of a property, without host bits.
pub(crate) fn network(item: &Item, property: &str) -> Option<IpNet> {
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

/// Iterates over the hosts at the far ends of point-to-point links: `network` of addresses with a prefix length of 32.
fn far_hosts<'a>(config: &Config<'a>) -> impl Iterator<Item = (&'a Item, IpNet)> {
    let addresses = config.enabled("/ip/address").into_iter();
    let hosts =
        addresses.filter(|item| network(item, "address").is_some_and(|net| net.prefix_len() == 32));
    hosts.filter_map(|item| Some((item, IpNet::from(address(item, "network")?))))
}

/// Returns the networks of the router's own addresses, without those whose prefix a pool assigns at run time.
pub fn own_networks<'a>(config: &Config<'a>) -> Vec<(&'a Item, IpNet)> {
    let of = |menu: &str| config.enabled(menu);
    let addresses = of("/ip/address").into_iter().chain(of("/ipv6/address"));
    let fixed = addresses.filter(|item| item.text("from-pool").is_empty());
    let networks = fixed.filter_map(|item| Some((item, network(item, "address")?)));
    networks.collect()
}
