//! Static routes and own networks: where packets to an address leave, by the longest prefix.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Value};

use crate::config::{Config, shown};

/// Leads to an address.
#[derive(Clone, Copy, Debug)]
pub enum Lead<'a> {
    /// An own network.
    Own,
    /// A static route.
    Route(&'a Item),
}

/// Own networks and static routes of table main. A look-up costs as much as there are prefix lengths.
#[derive(Debug)]
pub struct Routes<'a>(BTreeMap<IpNet, Lead<'a>>);

impl<'a> Routes<'a> {
    /// Indexes the routes and networks of a configuration.
    pub fn of(config: &Config<'a>) -> Self {
        let mut leads = BTreeMap::new();
        for route in config.enabled("/ip/route") {
            let is_main = matches!(shown(route, "routing-table").as_str(), "" | "main");
            if let Some(net) = network(route, "dst-address").filter(|_| is_main) {
                leads.insert(net, Lead::Route(route));
            }
        }
        let own = own_networks(config).into_iter();
        leads.extend(own.map(|(_, net)| (net, Lead::Own)));
        Self(leads)
    }

    /// Returns the longest prefix of an address, and what has it.
    pub fn towards(&self, to: IpAddr) -> Option<(IpNet, Lead<'a>)> {
        let lengths = (0..=IpNet::from(to).max_prefix_len()).rev();
        let mut nets = lengths.filter_map(|len| Some(IpNet::new(to, len).ok()?.trunc()));
        nets.find_map(|net| Some((net, *self.0.get(&net)?)))
    }
}

/// Returns the network of a property, without host bits.
pub(crate) fn network(item: &Item, property: &str) -> Option<IpNet> {
    let net = item.get(property).and_then(Value::as_prefix)?;
    Some(net.trunc())
}

/// Returns the networks of the router's own addresses.
pub fn own_networks<'a>(config: &Config<'a>) -> Vec<(&'a Item, IpNet)> {
    let of = |menu: &str| config.enabled(menu);
    let addresses = of("/ip/address").into_iter().chain(of("/ipv6/address"));
    let networks = addresses.filter_map(|item| Some((item, network(item, "address")?)));
    networks.collect()
}
