//! What the walk reads: interfaces, ports, settings and rules, and why a walk is not the fast one.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::snapshot::{
    FamilySettings, Interface, Own4, Own6, OwnAddresses, PortBinding, Prefix, Role, RoutingRule,
    RpFilter, SlowReason, Snapshot, Vlan, Walk,
};
use frame::InterfaceId;

use super::address::Addresses;
use super::layout::{Laid, Layout, NO_PORT, PortState};
use super::missing::Missing;
use crate::intent::{AnyNet, Intent, ItemId, Name, Rule};
use crate::rib::{Family, Net};

/// What the mirrors' ports finish by themselves, by port number.
pub type MirrorPorts = BTreeMap<u16, PortState>;

/// Compiles a snapshot of this epoch. `in_use6` are the IPv6 addresses that nobody else may send
/// from: who defends an address that is only tried here must be heard. `tables` are the numbers of
/// the routing tables by name.
#[expect(
    clippy::too_many_arguments,
    reason = "everything that a snapshot is made of, and nothing that belongs together"
)]
pub fn compile(
    epoch: u64,
    intent: &Intent,
    layout: &Layout,
    addresses: &Addresses,
    in_use6: &[Ipv6Addr],
    ports: &BTreeMap<Name, PortState>,
    mirror_ports: &MirrorPorts,
    tables: &BTreeMap<Name, u16>,
    firewall: &Arc<Firewall>,
) -> Snapshot {
    let rules: Vec<_> = intent
        .rules
        .iter()
        .filter(|rule| !rule.disabled)
        .filter_map(|rule| compile_rule(rule, layout, tables).ok())
        .collect();
    let mut snapshot = Snapshot {
        epoch,
        own: OwnAddresses::new(
            addresses.ipv4.keys().map(|(_, a)| u32::from(*a)).collect(),
            in_use6.iter().map(|a| u128::from(*a)).collect(),
        ),
        ipv4: FamilySettings {
            forward: intent.ipv4.forward,
            allow_fast_path: intent.ipv4.allow_fast_path,
            multipath_hash: intent.ipv4.multipath_hash,
        },
        ipv6: FamilySettings {
            forward: intent.ipv6.forward && !intent.ipv6.disabled,
            allow_fast_path: intent.ipv6.allow_fast_path,
            multipath_hash: intent.ipv6.multipath_hash,
        },
        rules,
        send_redirects: intent.ipv4.send_redirects,
        firewall: Arc::clone(firewall),
        fragments4: intent.ipv4.fragments(),
        ..Snapshot::default()
    };
    let mut vlans = vlans(layout);
    let in_use6: BTreeSet<_> = in_use6.iter().copied().collect();
    for (id, laid) in &layout.interfaces {
        let own_vlans = vlans.remove(id).unwrap_or_default();
        *slot(&mut snapshot.interfaces, id.0 as usize) =
            interface(laid, own_vlans, intent, &snapshot);
        let made = &mut snapshot.interfaces[id.0 as usize];
        made.addresses4 = addresses4(addresses, *id);
        made.address4 = address4(addresses, &made.addresses4);
        made.addresses6 = addresses6(addresses, *id, &in_use6);
        if let Some((port, mirror)) = laid.mirror {
            *slot(&mut snapshot.interfaces, mirror.0 as usize) = mirror_of(laid, port);
        }
    }
    bind_ports(&mut snapshot, layout, ports, mirror_ports);
    snapshot
}

/// The address by which an interface is known in options and errors: its first one, or where it has
/// none, one that the router is known by (RFC 1812, 2.2.7: unnumbered lines).
fn address4(addresses: &Addresses, own: &[Own4]) -> Option<Ipv4Addr> {
    let own = own.first().map(|own| own.address);
    own.or_else(|| addresses.ipv4.keys().next().map(|(_, address)| *address))
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
fn addresses6(addresses: &Addresses, id: InterfaceId, in_use6: &BTreeSet<Ipv6Addr>) -> Vec<Own6> {
    let usable = |address: Ipv6Addr| in_use6.contains(&address);
    let mut own: Vec<_> = addresses.of6(id).filter(|(own, _)| usable(*own)).collect();
    // The link-local address that the router makes has no item.
    own.sort_by_key(|(_, own)| (own.item.is_none(), own.item));
    let mut own: Vec<_> = { own.into_iter() }
        .map(|(address, own)| Own6 {
            address,
            len: own.len,
        })
        .collect();
    if own.iter().all(|own| own.address.is_unicast_link_local()) {
        let mut all = addresses.ipv6.iter();
        let other = all.find(|((_, other), _)| !other.is_unicast_link_local() && usable(*other));
        own.extend(other.map(|((_, address), own)| Own6 {
            address: *address,
            len: own.len,
        }));
    }
    own
}

/// The place with this index, made if it is not there.
fn slot<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

fn interface(laid: &Laid, vlans: Vec<Vlan>, intent: &Intent, made: &Snapshot) -> Interface {
    let rp_filter = intent.ipv4.rp_filter;
    let conditions = |ipv6: bool| Conditions {
        enabled: !(laid.disabled || ipv6 && intent.ipv6.disabled),
        allowed: match ipv6 {
            true => intent.ipv6.allow_fast_path,
            false => intent.ipv4.allow_fast_path,
        },
        rules: !made.rules.is_empty(),
        // RouterOS has no rp-filter for IPv6.
        reverse_path: !ipv6 && rp_filter != RpFilter::No,
        filtered: made.firewall.filters(ipv6),
        tracked: made.firewall.tracks(ipv6),
    };
    Interface {
        name: laid.name.clone(),
        running: laid.link.running,
        mac: laid.link.mac,
        mtu: laid.link.mtu,
        port: laid.link.port,
        vlans,
        tags: tags(laid),
        ethernet: laid.link.ethernet,
        ipv4: walk(&conditions(false)),
        ipv6: walk(&conditions(true)),
        rp_filter,
        mirror: laid.mirror.map(|(port, _)| port),
        groups4: Vec::new(),
        groups6: Vec::new(),
        ..Interface::default()
    }
}

/// What decides how one family walks on one interface (packet flow of RouterOS: its list of
/// conditions of FastPath).
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// The family is in use there.
    enabled: bool,
    /// `allow-fast-path`.
    allowed: bool,
    /// There are routing rules.
    rules: bool,
    /// The reverse path is checked.
    reverse_path: bool,
    /// There are rules of the firewall.
    filtered: bool,
    /// Connections are tracked.
    tracked: bool,
}

/// The walk of one family on one interface: the fast one, unless there is a reason.
fn walk(given: &Conditions) -> Walk {
    let reasons = [
        (!given.allowed, SlowReason::NotAllowed),
        (given.rules, SlowReason::RoutingRules),
        (given.filtered, SlowReason::FirewallRules),
        (given.tracked, SlowReason::ConnectionTracking),
        (given.reverse_path, SlowReason::ReversePathFilter),
    ];
    Walk {
        enabled: given.enabled,
        slow: reasons
            .into_iter()
            .filter_map(|(holds, reason)| holds.then_some(reason))
            .collect(),
        rules: given.rules,
        reverse_path: given.reverse_path,
    }
}

/// The mirror itself, as an interface that control can send by.
fn mirror_of(laid: &Laid, port: u16) -> Interface {
    let slow = Walk {
        enabled: true,
        slow: vec![SlowReason::Interface],
        ..Walk::default()
    };
    Interface {
        name: format!("host of {}", laid.name).into(),
        running: true,
        mtu: laid.link.mtu,
        port,
        ethernet: false,
        ipv4: slow.clone(),
        ipv6: slow,
        ..Interface::default()
    }
}

fn tags(laid: &Laid) -> Vec<Vlan> {
    let vlan = |(ethertype, vlan_id): &(u16, u16)| Vlan {
        ethertype: *ethertype,
        vlan_id: *vlan_id,
        interface: InterfaceId::NONE,
    };
    laid.link.tags.iter().map(vlan).collect()
}

/// The VLANs on each interface, sorted.
fn vlans(layout: &Layout) -> BTreeMap<InterfaceId, Vec<Vlan>> {
    let mut vlans: BTreeMap<_, Vec<Vlan>> = BTreeMap::new();
    for (child, laid) in &layout.interfaces {
        if let Some((parent, (ethertype, vlan_id))) = laid.parent
            && !laid.disabled
        {
            vlans.entry(parent).or_default().push(Vlan {
                ethertype,
                vlan_id,
                interface: *child,
            });
        }
    }
    vlans.values_mut().for_each(|list| list.sort_unstable());
    vlans
}

fn bind_ports(
    snapshot: &mut Snapshot,
    layout: &Layout,
    ports: &BTreeMap<Name, PortState>,
    mirror_ports: &MirrorPorts,
) {
    for (id, laid) in &layout.interfaces {
        if let Some(port) = laid.port_name.as_ref().and_then(|name| ports.get(name)) {
            *slot(&mut snapshot.ports, usize::from(port.number)) = binding(port, *id, Role::Wire);
        }
        if let Some((number, _)) = laid.mirror
            && number != NO_PORT
        {
            let none = PortState::default();
            let port = mirror_ports.get(&number).unwrap_or(&none);
            *slot(&mut snapshot.ports, usize::from(number)) = binding(port, *id, Role::Mirror);
        }
    }
}

fn binding(port: &PortState, interface: InterfaceId, role: Role) -> PortBinding {
    PortBinding {
        interface,
        offloads: port.offloads,
        role,
        steer: port.steer,
        workers: port.workers.clone(),
    }
}

/// A rule for the walk.
///
/// # Errors
/// What it names and is not there.
fn compile_rule(
    rule: &Rule,
    layout: &Layout,
    tables: &BTreeMap<Name, u16>,
) -> Result<RoutingRule, Missing> {
    let table = |name: &Option<Name>| match name {
        None => Ok(crate::rib::MAIN),
        Some(name) => {
            let number = tables.get(name).copied();
            number.ok_or_else(|| Missing::Table(name.clone()))
        }
    };
    let interface = |name: &Name| {
        let found = layout.named(name).map(|(id, _)| id);
        found.ok_or_else(|| Missing::Interface(name.clone()))
    };
    Ok(RoutingRule {
        source: rule.source.map(prefix),
        destination: rule.destination.map(prefix),
        interface: rule.interface.as_ref().map(interface).transpose()?,
        mark: match &rule.mark {
            None => None,
            mark => Some(u32::from(table(mark)?)),
        },
        action: rule.action,
        table: table(&rule.table)?,
        // RouterOS: routes of this length or shorter do not count.
        min_prefix: rule.min_prefix.map(|len| len.saturating_add(1)),
    })
}

/// The rules that have no effect, and what they name that is not there.
pub fn inactive_rules(
    intent: &Intent,
    layout: &Layout,
    tables: &BTreeMap<Name, u16>,
) -> BTreeMap<ItemId, Missing> {
    let rules = intent.rules.iter().filter(|rule| !rule.disabled);
    rules
        .filter_map(|rule| Some((rule.item, compile_rule(rule, layout, tables).err()?)))
        .collect()
}

fn prefix(net: AnyNet) -> Prefix {
    fn of<F: Family>(net: Net<F>) -> Prefix {
        Prefix {
            ipv6: F::IPV6,
            bits: F::bits(net.first()),
            len: net.len(),
        }
    }
    match net {
        AnyNet::V4(net) => of(net),
        AnyNet::V6(net) => of(net),
    }
}
