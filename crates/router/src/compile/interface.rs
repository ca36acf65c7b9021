//! Compiles interfaces: the line, the details and the VLAN tag of each.

use core::net::Ipv6Addr;
use std::sync::Arc;

use dataplane::interface::{Above, Details, Interface, Own4, Own6, Tag};
use dataplane::out::OutId;
use dataplane::rule::Class;
use frame::InterfaceId;

use super::address::Addresses;
use super::layout::{Laid, Layout, SharedMirror, Shares};
use crate::intent::Intent;

/// The longest packet of IP in bytes: packets for the host stack are not cut.
const MTU_MAX: u32 = 65_535;

/// An interface, as the workers are told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Its line.
    pub line: Interface,
    /// What is rarely asked of it, as the workers get it.
    pub details: Arc<Details>,
    /// The interface that it is a VLAN of, and its tag there.
    pub vlan: Option<(InterfaceId, Tag)>,
    /// The link that it shares as a station.
    pub station: Option<Shares>,
    /// What takes its frames before it does: of what kind that is, its line says.
    pub above: InterfaceId,
    /// What rules know it by. The firewall says.
    pub class: Class,
}

/// An interface, if there is one. `in_use` says of its IPv6 addresses whether they have passed the detection of
/// duplicates.
pub fn interface(
    intent: &Intent,
    layout: &Layout,
    addresses: &Addresses,
    id: InterfaceId,
    in_use: &dyn Fn(InterfaceId, Ipv6Addr) -> bool,
) -> Option<Compiled> {
    let laid = layout.interfaces.get(&id)?;
    let own4 = addresses4(addresses, id);
    let details = Details {
        name: laid.name.clone(),
        address4: own4.first().map(|own| own.address),
        addresses6: addresses6(addresses, id, in_use),
        addresses4: own4,
        tags: laid.link.tags.iter().copied().map(tag).collect(),
        tunnel: laid.tunnel.clone(),
        groups4: Vec::new(),
        groups6: Vec::new(),
    };
    let vlan = laid.parent.filter(|_| !laid.disabled);
    Some(Compiled {
        line: line(laid, intent),
        details: Arc::new(details),
        vlan: vlan.map(|(parent, named)| (parent, tag(named))),
        station: laid.station.clone().filter(|_| !laid.disabled),
        above: laid.above.map_or(InterfaceId::NONE, |(_, id)| id),
        class: Class::NONE,
    })
}

/// The mirror of an interface, if it has one, as an interface that control can send by.
pub fn mirror(laid: &Laid) -> Option<(InterfaceId, Compiled)> {
    let (port, id) = laid.mirror?;
    Some((id, mirror_of(laid, (id, port))))
}

fn line(laid: &Laid, intent: &Intent) -> Interface {
    Interface {
        running: laid.link.running,
        ethernet: laid.link.ethernet,
        ipv4: !laid.disabled && !laid.is_slave(),
        ipv6: !(laid.disabled || laid.is_slave() || intent.ipv6.disabled),
        mac: laid.link.mac,
        mtu: laid.link.mtu,
        out: laid.link.out,
        under: laid.under,
        above: laid.above.map_or(Above::Nothing, |(above, _)| above),
        mirror: laid.mirror.map(|(port, _)| port),
        ..Interface::default()
    }
}

/// The mirror that point-to-point interfaces share, as an interface that control can send by.
pub fn shared_mirror((port, id): SharedMirror) -> Compiled {
    mirror_named("host of point-to-point interfaces", MTU_MAX, (id, port))
}

fn mirror_of(laid: &Laid, (id, port): (InterfaceId, u16)) -> Compiled {
    mirror_named(&format!("host of {}", laid.name), laid.link.mtu, (id, port))
}

fn mirror_named(name: &str, mtu: u32, (id, port): (InterfaceId, u16)) -> Compiled {
    Compiled {
        line: Interface {
            running: true,
            ipv4: true,
            ipv6: true,
            mtu,
            out: OutId::port(port),
            under: id,
            ..Interface::default()
        },
        details: Arc::new(Details {
            name: name.into(),
            ..Details::default()
        }),
        vlan: None,
        station: None,
        above: InterfaceId::NONE,
        class: Class::NONE,
    }
}

fn tag((ethertype, vlan_id): (u16, u16)) -> Tag {
    Tag { ethertype, vlan_id }
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

/// The IPv6 addresses of an interface that are in use, in the order of their items.
fn addresses6(
    addresses: &Addresses,
    id: InterfaceId,
    in_use: &dyn Fn(InterfaceId, Ipv6Addr) -> bool,
) -> Vec<Own6> {
    let of_interface = addresses.of6(id);
    let mut own: Vec<_> = of_interface.filter(|(own, _)| in_use(id, *own)).collect();
    // The link-local address that the router makes has no item.
    own.sort_by_key(|(_, own)| (own.item.is_none(), own.item));
    let own = own.into_iter().map(|(address, own)| Own6 {
        address,
        len: own.len,
    });
    own.collect()
}
