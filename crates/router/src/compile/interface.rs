//! Compiles the line, the details and the VLAN tag of each interface.

use core::net::Ipv6Addr;
use std::sync::Arc;

use dataplane::encap::Encapsulation;
use dataplane::interface::{Above, Details, Interface, Own4, Own6, Session, Tag};
use dataplane::out::OutId;
use dataplane::rule::Class;
use frame::InterfaceId;

use super::address::Addresses;
use super::layout::{Layout, LayoutEntry, SharedMirror, Shares};
use crate::intent::Intent;

/// Maximum length of an IP packet in bytes: packets for the host stack are not fragmented.
const MTU_MAX: u32 = 65_535;

/// A compiled interface for workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Line of the interface table.
    pub line: Interface,
    /// Rarely used properties.
    pub details: Arc<Details>,
    /// Parent of a VLAN interface, and its tag there.
    pub vlan: Option<(InterfaceId, Tag)>,
    /// Shared link of a station.
    pub station: Option<Shares>,
    /// PPPoE session, and the interface that carries its frames.
    pub session: Option<(InterfaceId, Session)>,
    /// Master that takes its frames; the line contains the kind of the master.
    pub above: InterfaceId,
    /// Class in rules, from the firewall.
    pub class: Class,
}

/// Compiles an interface, if it exists. `in_use` returns whether an IPv6 address has passed duplicate address
/// detection.
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
        tags: laid
            .link
            .tags
            .iter()
            .copied()
            .map(|(ethertype, vlan_id)| tag(ethertype, vlan_id))
            .collect(),
        tunnel: laid.tunnel.clone(),
        session: laid.link.session,
        groups4: Vec::new(),
        groups6: Vec::new(),
    };
    let vlan = laid.parent.filter(|_| !laid.disabled);
    Some(Compiled {
        line: line(laid, intent),
        details: Arc::new(details),
        vlan: vlan.map(|(parent, named)| (parent, tag(named.0, named.1))),
        station: laid.station.clone().filter(|_| !laid.disabled),
        session: laid
            .session_on
            .filter(|_| !laid.disabled)
            .zip(laid.link.session),
        above: laid.above.map_or(InterfaceId::NONE, |(_, id)| id),
        class: Class::NONE,
    })
}

/// Compiles the mirror of an interface as an egress of control; `None` without a mirror.
pub fn mirror(laid: &LayoutEntry) -> Option<(InterfaceId, Compiled)> {
    let (port, id) = laid.mirror?;
    Some((id, mirror_of(laid, id, port)))
}

fn line(laid: &LayoutEntry, intent: &Intent) -> Interface {
    Interface {
        running: laid.link.running,
        ethernet: laid.link.ethernet,
        ipv4: !laid.disabled && !laid.is_slave(),
        encrypted: matches!(
            laid.tunnel,
            Some(Encapsulation::Mppe(_) | Encapsulation::Bridged(_))
        ),
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

/// Compiles the shared mirror of point-to-point interfaces, as an egress of control.
pub fn shared_mirror(mirror: SharedMirror) -> Compiled {
    let (port, id) = mirror;
    mirror_named("host of point-to-point interfaces", MTU_MAX, id, port)
}

fn mirror_of(laid: &LayoutEntry, id: InterfaceId, port: u16) -> Compiled {
    mirror_named(&format!("host of {}", laid.name), laid.link.mtu, id, port)
}

fn mirror_named(name: &str, mtu: u32, id: InterfaceId, port: u16) -> Compiled {
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
        session: None,
        above: InterfaceId::NONE,
        class: Class::NONE,
    }
}

fn tag(ethertype: u16, vlan_id: u16) -> Tag {
    Tag { ethertype, vlan_id }
}

/// Returns the addresses of an interface, in the order of their items.
fn addresses4(addresses: &Addresses, id: InterfaceId) -> Vec<Own4> {
    let mut own: Vec<_> = addresses.of4(id).collect();
    own.sort_unstable_by_key(|(_, own)| own.item);
    let own = own.into_iter().map(|(address, own)| Own4 {
        address,
        network: (own.network.first(), own.network.last()),
    });
    own.collect()
}

/// Returns the usable IPv6 addresses of an interface, in the order of their items.
fn addresses6(
    addresses: &Addresses,
    id: InterfaceId,
    in_use: &dyn Fn(InterfaceId, Ipv6Addr) -> bool,
) -> Vec<Own6> {
    let of_interface = addresses.of6(id);
    let mut own: Vec<_> = of_interface.filter(|(own, _)| in_use(id, *own)).collect();
    // The automatic link-local address has no item.
    own.sort_by_key(|(_, own)| (own.item.is_none(), own.item));
    let own = own.into_iter().map(|(address, own)| Own6 {
        address,
        len: own.len,
    });
    own.collect()
}
