//! Dynamic objects of a session: addresses, routes, list memberships, queue. The end of the session removes them.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::net::IpAddr;

use menu::Value;
use ppp::{Ipv4Link, Ipv6Link};
use schema::RateLimit;

use super::carrier::FixedIpv6;
use super::dial::{Dial, PeerDns};
use super::profile::QueuePosition;
use super::route_text;
use super::rules::RuleSet;
use super::session::Login;
use crate::feature::queue::queue_limits;
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Address4, Address6, Member, Name};
use crate::learned::Servers;
use crate::object::{DynamicQueue, ListEntry, Made, Owner, QueueTarget};
use crate::rib::{Net, V4, V6};

/// Owner of the interface and of what does not depend on a network protocol.
pub(super) const fn owner(serial: u64) -> Owner {
    Owner {
        feature: "ppp",
        number: serial,
    }
}

/// Owner of what a session has while IPv4 is open.
pub(super) const fn owner4(serial: u64) -> Owner {
    Owner {
        feature: "ppp-ipv4",
        number: serial,
    }
}

/// Owner of what a session has while IPv6 is open.
pub(super) const fn owner6(serial: u64) -> Owner {
    Owner {
        feature: "ppp-ipv6",
        number: serial,
    }
}

/// Owner of the queue.
pub(super) const fn owner_of_queue(serial: u64) -> Owner {
    Owner {
        feature: "ppp-queue",
        number: serial,
    }
}

/// Owner of the entries of address lists.
pub(super) const fn owner_of_lists(serial: u64) -> Owner {
    Owner {
        feature: "ppp-list",
        number: serial,
    }
}

/// Owner of what leads packets to the rules of the session.
pub(super) const fn owner_of_rules(serial: u64) -> Owner {
    Owner {
        feature: "ppp-rule",
        number: serial,
    }
}

/// Owner of the port of a bridge.
pub(super) const fn owner_of_port(serial: u64) -> Owner {
    Owner {
        feature: "ppp-bridge",
        number: serial,
    }
}

/// All owners of a session.
pub(super) fn owners(serial: u64) -> [Owner; 7] {
    [
        owner_of_port(serial),
        owner4(serial),
        owner6(serial),
        owner_of_lists(serial),
        owner_of_queue(serial),
        owner_of_rules(serial),
        owner(serial),
    ]
}

impl Login {
    /// Returns the rules that packets of the session pass.
    pub(super) fn rule_sets(&self) -> Vec<RuleSet> {
        let mut sets = Vec::new();
        if self.grant.profile.clamp_mss == Some(true) && self.link.is_some() {
            sets.push(RuleSet::ClampMss(self.mtu()));
        }
        let grant = &self.grant;
        sets.extend(grant.incoming_filter.clone().map(RuleSet::Incoming));
        sets.extend(grant.outgoing_filter.clone().map(RuleSet::Outgoing));
        sets
    }

    /// Makes addresses, routes and list entries of IPv4.
    pub(super) fn make_ipv4(&self, serial: u64, ipv4: &Ipv4Link, out: &mut Effects) {
        let name = &self.interface.name;
        let owner = owner4(serial);
        let address = Address4 {
            addr: ipv4.local,
            len: 32,
            network: ipv4.remote.unwrap_or(ipv4.local),
            interface: name.clone(),
            disabled: false,
        };
        out.object(owner, Made::Address4(address));
        let (routes, _) = route_text::parse::<V4>(&self.grant.routes, name);
        for route in routes {
            out.object(owner, Made::Route4(route));
        }
        self.make_list_entries(serial, out);
    }

    /// Adds the address of the user to address lists.
    pub(super) fn make_list_entries(&self, serial: u64, out: &mut Effects) {
        let remote = self.ipv4.and_then(|ipv4| ipv4.remote);
        for list in remote.iter().flat_map(|_| &self.grant.address_lists) {
            let entry = ListEntry {
                list: list.clone(),
                address: IpAddr::V4(remote.unwrap_or(Ipv4Addr::UNSPECIFIED)),
            };
            out.object(owner_of_lists(serial), Made::ListEntry(entry));
        }
    }

    /// Makes addresses and routes of IPv6.
    pub(super) fn make_ipv6(&self, serial: u64, ipv6: &Ipv6Link, out: &mut Effects) {
        let name = &self.interface.name;
        let owner = owner6(serial);
        let address = Address6 {
            addr: link_local(ipv6.local),
            len: 64,
            interface: name.clone(),
            eui64: false,
            advertise: false,
            no_dad: true,
            auto_link_local: false,
            disabled: false,
        };
        // Hosts behind the user build addresses from an advertised prefix.
        let prefix = self.leases.prefix.as_ref().map(|(prefix, _)| Address6 {
            addr: Ipv6Addr::from(
                u128::from(prefix.network()) | u128::from(u64::from_be_bytes(ipv6.local)),
            ),
            len: prefix.prefix_len(),
            advertise: true,
            ..address.clone()
        });
        out.object(owner, Made::Address6(address));
        if let Some(prefix) = prefix {
            out.object(owner, Made::Address6(prefix));
        }
        let (routes, _) = route_text::parse::<V6>(&self.grant.ipv6_routes, name);
        for route in routes {
            out.object(owner, Made::Route6(route));
        }
    }

    /// Returns the queue of the session.
    pub(super) fn queue(&self, limit: RateLimit) -> Made {
        let profile = &self.grant.profile;
        let kinds = profile.queue_type.clone();
        let kinds = kinds.map_or([None, None], |kinds| kinds.map(Some));
        Made::Queue(Box::new(DynamicQueue {
            name: self.interface.name.clone(),
            target: QueueTarget::Interface(self.interface.name.clone()),
            limits: queue_limits(limit),
            kinds,
            parent: profile.parent_queue.clone(),
            first: profile.queue_position == Some(QueuePosition::First),
        }))
    }
}

/// Makes the IPv6 default route of a client (RouterOS: with `add-default-route`, as for IPv4).
pub(super) fn make_default_route6(serial: u64, dial: &Dial, out: &mut Effects) {
    if let Some(distance) = dial.default_route {
        let net = Net::new(Ipv6Addr::UNSPECIFIED, 0);
        let route = Made::Route6(route_text::over::<V6>(net, None, &dial.name, distance));
        out.push(vpn_route(owner6(serial), route));
    }
}

/// Returns the effect that makes a route with the flag of VPN interfaces.
fn vpn_route(owner: Owner, made: Made) -> Effect {
    Effect::Object(Box::new(NewObject {
        owner,
        made,
        cells: vec![("vpn", Value::Bool(true))],
        removable: false,
    }))
}

/// Makes the IPv6 address of a session that its carrier agreed, and the route to the other end.
pub(super) fn make_fixed_ipv6(serial: u64, interface: &Name, fixed: &FixedIpv6, out: &mut Effects) {
    let address = Address6 {
        addr: fixed.local,
        len: fixed.len,
        interface: interface.clone(),
        eui64: false,
        advertise: false,
        no_dad: true,
        auto_link_local: false,
        disabled: false,
    };
    out.object(owner(serial), Made::Address6(address));
    if let Some(remote) = fixed.remote {
        let net = Net::new(remote, 128);
        let route = route_text::over::<V6>(net, None, interface, 1);
        out.object(owner(serial), Made::Route6(route));
    }
}

/// Makes the default route of a client, and announces the DNS servers of the other end. Packets in frames need the
/// other end as gateway.
pub(super) fn learn(
    serial: u64,
    dial: &Dial,
    ipv4: &Ipv4Link,
    has_frames: bool,
    out: &mut Effects,
) {
    let owner = owner4(serial);
    if let Some(distance) = dial.default_route {
        let gateway = ipv4.remote.filter(|_| has_frames);
        add_default_route(owner, &dial.name, gateway, distance, out);
    }
    if dial.dns != PeerDns::No {
        let servers = Servers {
            interface: dial.name.clone(),
            dns: ipv4.dns.into_iter().flatten().map(IpAddr::V4).collect(),
            exclusive: dial.dns == PeerDns::Exclusively,
            ntp: Vec::new(),
            domain: None,
        };
        out.push(Effect::Learn(owner, Some(servers)));
    }
}

/// Adds a default route over the interface of a client.
pub(super) fn add_default_route(
    owner: Owner,
    interface: &Name,
    gateway: Option<Ipv4Addr>,
    distance: u8,
    out: &mut Effects,
) {
    let net = Net::new(Ipv4Addr::UNSPECIFIED, 0);
    let route = route_text::over::<V4>(net, gateway, interface, distance);
    out.push(vpn_route(owner, Made::Route4(route)));
}

/// Returns the link-local address of an interface identifier.
fn link_local(identifier: [u8; 8]) -> Ipv6Addr {
    let low = u64::from_be_bytes(identifier);
    Ipv6Addr::from(0xfe80 << 112 | u128::from(low))
}

/// Returns the membership of an interface in a list.
pub(in crate::feature) fn member(list: &Name, interface: &Name) -> Made {
    Made::Member(Member {
        list: list.clone(),
        interface: interface.clone(),
        disabled: false,
    })
}
