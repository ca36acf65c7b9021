//! Compiles interfaces: the line, the details and the VLAN tag of each.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use dataplane::interface::{Details, Interface, Own4, Own6, Tag};
use dataplane::out::OutId;
use frame::InterfaceId;

use super::address::Addresses;
use super::layout::{Laid, Layout};
use crate::intent::Intent;

/// An interface, as the workers are told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Its line.
    pub line: Interface,
    /// What is rarely asked of it.
    pub details: Details,
    /// The interface that it is a VLAN of, and its tag there.
    pub vlan: Option<(InterfaceId, Tag)>,
}

/// All interfaces, and the mirrors of those that have one. `in_use6` are the IPv6 addresses that passed
/// the detection of duplicates.
pub fn interfaces(
    intent: &Intent,
    layout: &Layout,
    addresses: &Addresses,
    in_use6: &[Ipv6Addr],
) -> BTreeMap<InterfaceId, Compiled> {
    let in_use6: BTreeSet<_> = in_use6.iter().copied().collect();
    let known_by = KnownBy::new(addresses, &in_use6);
    let mut made = BTreeMap::new();
    for (id, laid) in &layout.interfaces {
        let own4 = addresses4(addresses, *id);
        let details = Details {
            name: laid.name.clone(),
            address4: own4.first().map(|own| own.address).or(known_by.ipv4),
            addresses6: addresses6(addresses, *id, (&in_use6, known_by.ipv6)),
            addresses4: own4,
            tags: laid.link.tags.iter().copied().map(tag).collect(),
            tunnel: None,
            groups4: Vec::new(),
            groups6: Vec::new(),
        };
        let vlan = laid.parent.filter(|_| !laid.disabled);
        let compiled = Compiled {
            line: line(layout, *id, laid, intent),
            details,
            vlan: vlan.map(|(parent, named)| (parent, tag(named))),
        };
        made.insert(*id, compiled);
        if let Some((port, mirror)) = laid.mirror {
            made.insert(mirror, mirror_of(laid, (mirror, port)));
        }
    }
    made
}

fn line(layout: &Layout, id: InterfaceId, laid: &Laid, intent: &Intent) -> Interface {
    Interface {
        running: laid.link.running,
        ethernet: laid.link.ethernet,
        ipv4: !laid.disabled,
        ipv6: !(laid.disabled || intent.ipv6.disabled),
        mac: laid.link.mac,
        mtu: laid.link.mtu,
        out: OutId::port(laid.link.port),
        under: layout.lowest(id),
        mirror: laid.mirror.map(|(port, _)| port),
        ..Interface::default()
    }
}

/// The mirror itself, as an interface that control can send by.
fn mirror_of(laid: &Laid, (id, port): (InterfaceId, u16)) -> Compiled {
    Compiled {
        line: Interface {
            running: true,
            ipv4: true,
            ipv6: true,
            mtu: laid.link.mtu,
            out: OutId::port(port),
            under: id,
            ..Interface::default()
        },
        details: Details {
            name: format!("host of {}", laid.name).into(),
            ..Details::default()
        },
        vlan: None,
    }
}

fn tag((ethertype, vlan_id): (u16, u16)) -> Tag {
    Tag { ethertype, vlan_id }
}

/// The addresses that the router is known by on interfaces that have none (RFC 1812, 2.2.7: unnumbered
/// lines): its first one, and its first one of IPv6 that reaches beyond its link.
struct KnownBy {
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Own6>,
}

impl KnownBy {
    fn new(addresses: &Addresses, in_use6: &BTreeSet<Ipv6Addr>) -> Self {
        let mut all6 = addresses.ipv6.iter();
        let beyond =
            |address: &Ipv6Addr| !address.is_unicast_link_local() && in_use6.contains(address);
        let first6 = all6.find(|((_, address), _)| beyond(address));
        Self {
            ipv4: addresses.ipv4.keys().next().map(|(_, address)| *address),
            ipv6: first6.map(|((_, address), own)| Own6 {
                address: *address,
                len: own.len,
            }),
        }
    }
}

/// The addresses of an interface, in the order of their items.
fn addresses4(addresses: &Addresses, id: InterfaceId) -> Vec<Own4> {
    let mut own: Vec<_> = addresses.of4(id).collect();
    own.sort_unstable_by_key(|(_, own)| own.item);
    let own = own.into_iter().map(|(address, own)| Own4 {
        address,
        network: (own.network.first(), own.network.last()),
    });
    own.collect()
}

/// The IPv6 addresses of an interface that are in use, in the order of their items; one of the router's
/// behind them where an interface is known by none beyond its link.
fn addresses6(
    addresses: &Addresses,
    id: InterfaceId,
    (in_use6, known_by): (&BTreeSet<Ipv6Addr>, Option<Own6>),
) -> Vec<Own6> {
    let of_interface = addresses.of6(id);
    let mut own: Vec<_> = of_interface
        .filter(|(own, _)| in_use6.contains(own))
        .collect();
    // The link-local address that the router makes has no item.
    own.sort_by_key(|(_, own)| (own.item.is_none(), own.item));
    let mut own: Vec<_> = { own.into_iter() }
        .map(|(address, own)| Own6 {
            address,
            len: own.len,
        })
        .collect();
    if own.iter().all(|own| own.address.is_unicast_link_local()) {
        own.extend(known_by);
    }
    own
}
