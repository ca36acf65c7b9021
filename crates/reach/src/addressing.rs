//! Addresses of the router, and the interfaces towards other addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use doctor::config::{Config, shown};
use doctor::routes::{Routes, own_networks};
use ipnet::IpNet;

use crate::ranges::Ranges;

/// Clients whose interfaces get addresses at run time.
const CLIENTS: &[&str] = &[
    "/ip/dhcp-client",
    "/interface/pppoe-client",
    "/interface/lte",
    "/interface/ppp-client",
    "/interface/l2tp-client",
    "/interface/sstp-client",
    "/interface/pptp-client",
    "/interface/ovpn-client",
];
const CLIENTS_V6: &[&str] = &["/ipv6/dhcp-client", "/interface/lte"];
/// Link-local addresses: every interface has one.
const LINK_LOCAL: (u128, u128) = (0xfe80 << 112, (0xfec0 << 112) - 1);

/// Addresses that leave the router by the same interfaces.
#[derive(Debug)]
struct Segment {
    from: u128,
    to: u128,
    interfaces: Ranges,
}

/// Numbers of interfaces by name.
struct Numbers<'a>(BTreeMap<&'a str, u128>);

impl<'a> Numbers<'a> {
    fn of(interfaces: &'a [String]) -> Self {
        let numbers = interfaces.iter().enumerate();
        Self(
            numbers
                .map(|(at, name)| (name.as_str(), at as u128))
                .collect(),
        )
    }

    /// Returns the numbers of interfaces; unknown names are left out.
    fn ranges(&self, names: impl IntoIterator<Item = String>) -> Ranges {
        let numbers = names.into_iter();
        let numbers = numbers.filter_map(|name| self.0.get(name.as_str()).copied());
        Ranges::new(numbers.map(|number| (number, number)))
    }
}

/// Addresses of one family. A look-up takes logarithmic time.
#[derive(Debug)]
pub(crate) struct Addressing {
    local: Ranges,
    is_assigned: bool,
    router: Ranges,
    /// All addresses, ascending.
    segments: Vec<Segment>,
}

impl Addressing {
    /// Indexes a configuration; the order of `interfaces` gives their numbers.
    pub(crate) fn new(config: &Config<'_>, interfaces: &[String], is_ipv6: bool) -> Self {
        let routes = Routes::of(config);
        let numbers = Numbers::of(interfaces);
        let all = all(is_ipv6);
        let mut own = own_addresses(config, is_ipv6);
        if is_ipv6 {
            own.push(LINK_LOCAL);
        }
        let local = Ranges::new(own);
        let outside = outside(config, &routes, is_ipv6, &numbers);
        let (mut segments, mut known) = (Vec::new(), Vec::new());
        let starts = starts(&routes, is_ipv6);
        for (at, from) in starts.iter().enumerate() {
            let to = starts.get(at + 1).map_or(all.1, |next| next - 1);
            let lead = routes.towards(address(*from, is_ipv6));
            let net = lead.map(|(net, _)| net).filter(|net| net.prefix_len() > 0);
            known.extend(net.map(|_| (*from, to)));
            let interfaces = net.map(|net| numbers.ranges(routes.interfaces(&net)));
            let interfaces = interfaces.filter(|interfaces| !interfaces.is_empty());
            segments.push(Segment {
                from: *from,
                to,
                interfaces: interfaces.unwrap_or_else(|| outside.clone()),
            });
        }
        let is_assigned = is_assigned(config, is_ipv6);
        let router = match is_assigned || local.is_empty() {
            true => Ranges::new([all]).subtract(&Ranges::new(known).subtract(&local)),
            false => local.clone(),
        };
        Self {
            local,
            is_assigned,
            router,
            segments,
        }
    }

    /// Returns the addresses that the configuration gives the router.
    pub(crate) const fn local(&self) -> &Ranges {
        &self.local
    }

    /// Returns true if [`Self::local`] has all addresses of the router.
    pub(crate) fn is_local_complete(&self) -> bool {
        !self.is_assigned && !self.local.is_empty()
    }

    /// Returns the addresses that the router may have: if some are assigned at run time, all but those of other hosts
    /// in own networks and behind static routes.
    pub(crate) const fn router(&self) -> &Ranges {
        &self.router
    }

    /// Returns the interfaces by which packets to some addresses may leave: those of own networks and static routes,
    /// and the interfaces of the outside for other addresses.
    pub(crate) fn interfaces_towards(&self, addresses: &Ranges) -> Ranges {
        let towards = addresses.iter().flat_map(|(from, to)| {
            let first = self.segments.partition_point(|segment| segment.to < from);
            let segments = self.segments.get(first..).unwrap_or_default().iter();
            segments.take_while(move |segment| segment.from <= to)
        });
        Ranges::new(towards.flat_map(|segment| segment.interfaces.iter()))
    }
}

/// Returns first and last address of a family.
const fn all(is_ipv6: bool) -> (u128, u128) {
    match is_ipv6 {
        true => (0, u128::MAX),
        false => (0, u32::MAX as u128),
    }
}

/// Returns the addresses of the configuration: of interfaces, and of this end of PPP sessions.
fn own_addresses(config: &Config<'_>, is_ipv6: bool) -> Vec<(u128, u128)> {
    let networks = own_networks(config).into_iter();
    let own = networks.filter_map(|(item, _)| Some(item.get("address")?.as_prefix()?.addr()));
    let ends = ["/ppp/profile", "/ppp/secret"].map(|menu| config.enabled(menu));
    let ends = ends.into_iter().flatten();
    let ends = ends.filter_map(|item| shown(item, "local-address").parse::<IpAddr>().ok());
    let own = own.chain(ends).filter(|own| own.is_ipv6() == is_ipv6);
    own.map(|own| (number(own), number(own))).collect()
}

/// Returns true if the router gets addresses at run time.
fn is_assigned(config: &Config<'_>, is_ipv6: bool) -> bool {
    let clients = if is_ipv6 { CLIENTS_V6 } else { CLIENTS };
    if clients.iter().any(|menu| !config.enabled(menu).is_empty()) {
        return true;
    }
    if !is_ipv6 {
        // This end has an address of a pool.
        let ends = ["/ppp/profile", "/ppp/secret"].map(|menu| config.enabled(menu));
        return ends.into_iter().flatten().any(|item| {
            let end = shown(item, "local-address");
            !end.is_empty() && end.parse::<IpAddr>().is_err()
        });
    }
    let settings = config.settings("/ipv6/settings");
    let addresses = config.enabled("/ipv6/address");
    settings.is_some_and(|settings| settings.text("accept-router-advertisements") == "yes")
        || addresses
            .iter()
            .any(|item| !item.text("from-pool").is_empty())
}

/// Returns the interfaces of the outside: towards the Internet, or all if no configuration names them.
fn outside(
    config: &Config<'_>,
    routes: &Routes<'_>,
    is_ipv6: bool,
    numbers: &Numbers<'_>,
) -> Ranges {
    let wan = config.wan().into_iter().map(str::to_owned);
    let default = IpNet::new(address(0, is_ipv6), 0).ok();
    let default = default.map(|default| routes.interfaces(&default));
    let outside = numbers.ranges(wan.chain(default.into_iter().flatten()));
    match outside.is_empty() {
        true => Ranges::new(numbers.0.values().map(|number| (*number, *number))),
        false => outside,
    }
}

/// Returns the addresses at which the longest prefix may change; 0 is the first.
fn starts(routes: &Routes<'_>, is_ipv6: bool) -> Vec<u128> {
    let (first, last) = all(is_ipv6);
    let nets = routes.networks();
    let nets = nets.filter(|net| matches!(net, IpNet::V6(_)) == is_ipv6);
    let mut starts = BTreeSet::from([first]);
    for net in nets {
        starts.insert(number(net.network()));
        let end = number(net.broadcast()).checked_add(1);
        starts.extend(end.filter(|end| *end <= last));
    }
    starts.into_iter().collect()
}

/// Returns an address as a number.
pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// Returns the address with a number.
pub(crate) fn address(number: u128, is_ipv6: bool) -> IpAddr {
    match is_ipv6 {
        true => IpAddr::V6(Ipv6Addr::from(number)),
        false => IpAddr::V4(Ipv4Addr::from(number as u32)),
    }
}
