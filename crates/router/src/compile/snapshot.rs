//! Compiles settings, port bindings and rules, and the reasons against the fast path.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::routing_rules::{RoutingRule, RoutingRules};
use dataplane::snapshot::{
    FamilySettings, PortBinding, Prefix, Role, RpFilter, SlowReason, SlowReasons, Snapshot,
};
use frame::InterfaceId;

use super::layout::{Layout, LayoutInputs, PortState};
use super::missing::Missing;
use crate::intent::{AnyNet, Intent, ItemId, Name, Rule};
use crate::rib::{Family, Net};

/// Offloads of the mirrors' ports, by port number.
pub type MirrorPorts = BTreeMap<u16, PortState>;

/// Compiles a snapshot with this epoch. `tables` contains the numbers of the routing tables by name.
pub fn compile(
    epoch: u64,
    ground: &LayoutInputs<'_>,
    layout: &Layout,
    mirror_ports: &MirrorPorts,
    tables: &BTreeMap<Name, u16>,
    firewall: &Arc<Firewall>,
) -> Snapshot {
    let intent = ground.intent;
    let rules: RoutingRules = intent
        .rules
        .iter()
        .filter(|rule| !rule.disabled)
        .filter_map(|rule| compile_rule(rule, layout, tables).ok())
        .collect();
    let mut snapshot = Snapshot {
        epoch,
        ipv4: FamilySettings {
            forward: intent.ipv4.forward,
            allow_fast_path: intent.ipv4.allow_fast_path,
            multipath_hash: intent.ipv4.multipath_hash,
            rp_filter: intent.ipv4.rp_filter,
            slow: SlowReasons::default(),
        },
        ipv6: FamilySettings {
            forward: intent.ipv6.forward && !intent.ipv6.disabled,
            allow_fast_path: intent.ipv6.allow_fast_path,
            multipath_hash: intent.ipv6.multipath_hash,
            // RouterOS has no reverse path filter for IPv6.
            rp_filter: RpFilter::No,
            slow: SlowReasons::default(),
        },
        rules,
        send_redirects: intent.ipv4.send_redirects,
        firewall: Arc::clone(firewall),
        fragments4: intent.ipv4.fragments(),
        queues: intent.queues,
        ipsec: intent.ipsec.clone(),
        ..Snapshot::default()
    };
    snapshot.ipv4.slow = slow(false, &snapshot);
    snapshot.ipv6.slow = slow(true, &snapshot);
    bind_ports(&mut snapshot, ground, layout, mirror_ports);
    snapshot
}

/// Returns the element with this index; extends the list if needed.
fn slot<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

/// Returns the reasons why packets of a family cannot use the fast path (RouterOS, packet flow: conditions of
/// FastPath).
fn slow(ipv6: bool, made: &Snapshot) -> SlowReasons {
    let settings = made.family(ipv6);
    let reasons = [
        (!settings.allow_fast_path, SlowReason::NotAllowed),
        (!made.rules.is_empty(), SlowReason::RoutingRules),
        (settings.checks_way_back(), SlowReason::ReversePathFilter),
        (made.firewall.filters(ipv6), SlowReason::FirewallRules),
        (made.firewall.tracks(ipv6), SlowReason::ConnectionTracking),
        (made.queues, SlowReason::Queues),
        (!made.ipsec.is_empty(), SlowReason::IpsecPolicies),
    ];
    let reasons = reasons.into_iter();
    reasons
        .filter_map(|(holds, reason)| holds.then_some(reason))
        .collect()
}

fn bind_ports(
    snapshot: &mut Snapshot,
    ground: &LayoutInputs<'_>,
    layout: &Layout,
    mirror_ports: &MirrorPorts,
) {
    for (name, port) in ground.ports {
        let on = ground.intent.interfaces.on(name);
        let mapped = on.filter_map(|(_, interface)| layout.named(&interface.name));
        for (id, _) in mapped.filter(|(_, laid)| laid.port_name.as_ref() == Some(name)) {
            *slot(&mut snapshot.ports, usize::from(port.number)) = binding(port, id, Role::Wire);
            snapshot.spread_by_devices |= !port.steer && port.workers.len() > 1;
        }
    }
    for (id, number) in ground.mirrors {
        if layout.interfaces.contains_key(id) {
            let none = PortState::default();
            let port = mirror_ports.get(number).unwrap_or(&none);
            *slot(&mut snapshot.ports, usize::from(*number)) = binding(port, *id, Role::Mirror);
        }
    }
    if let Some((number, id)) = ground.shared_mirror
        && let Some(port) = mirror_ports.get(&number)
    {
        *slot(&mut snapshot.ports, usize::from(number)) = binding(port, id, Role::Shared);
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

/// Compiles a routing rule.
///
/// # Errors
/// The object that the rule names and that does not exist.
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
        // RouterOS: routes of this length or shorter are ignored.
        min_prefix: rule.min_prefix.map(|len| len.saturating_add(1)),
    })
}

/// Returns the routing rules without effect, and the missing object of each.
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
