//! Bridges, their ports and VLANs (MikroTik's manual, "Layer2 misconfiguration").

use std::collections::{BTreeMap, BTreeSet};

use menu::{Item, quote};

use crate::config::{
    Config, FILTER, FILTER6, MANGLE, NAT, RAW, has, has_any, name, shown, title, words,
};
use crate::packet::ranges;
use crate::rule::{Rule, Severity};

const BRIDGE: &str = "/interface/bridge";
const VLAN: &str = "/interface/vlan";

pub(super) const BRIDGE_FILTER_SLOWPATH: Rule = Rule {
    name: "bridge-filter-slowpath",
    severity: Severity::Warning,
    cause: "a rule of the bridge's filter or NAT without an interface takes the bridged frames of all ports off \
            FastPath, including trusted ports",
    mend: "restrict the rule to an interface: in-interface, out-interface or their lists",
    find: |config, found| {
        for rule in ["/interface/bridge/filter", "/interface/bridge/nat"]
            .iter()
            .flat_map(|path| config.enabled(path))
        {
            let scopes = [
                "in-interface",
                "out-interface",
                "in-interface-list",
                "out-interface-list",
                "in-bridge",
                "out-bridge",
            ];
            if !has_any(rule, &scopes) {
                found.add(
                    &[rule],
                    format!("{} examines the frames of all ports", title(rule)),
                );
            }
        }
    },
};

pub(super) const USE_IP_FIREWALL_FOR_QUEUE: Rule = Rule {
    name: "use-ip-firewall-for-queue",
    severity: Severity::Warning,
    cause: "use-ip-firewall=yes sends all bridged traffic through the firewall so that a simple queue sees some of \
            it: this costs more than the queue, and the queue still misses switched frames",
    mend: "mark packets in the bridge's filter, limit them in a queue tree whose parent is the port, and set \
           use-ip-firewall=no",
    find: |config, found| {
        let settings = config.settings("/interface/bridge/settings");
        let Some(settings) = settings.filter(|settings| settings.is("use-ip-firewall")) else {
            return;
        };
        for queue in config.enabled("/queue/simple") {
            let mut targets = words(queue.get("target")).into_iter();
            if let Some((port, bridge)) =
                targets.find_map(|name| Some((name.to_owned(), config.bridge_of(name)?.0)))
            {
                let said = format!(
                    "simple queue {} is for {port}, a port of {bridge}",
                    title(queue)
                );
                found.add(&[queue, settings], said);
            }
        }
    },
};

pub(super) const RULE_ON_SLAVE_INTERFACE: Rule = Rule {
    name: "rule-on-slave-interface",
    severity: Severity::Error,
    cause: "for IP, packets from a bridge port enter by the bridge: the rule matches nothing",
    mend: "use the bridge as the interface; or in-bridge-port with use-ip-firewall=yes",
    find: |config, found| {
        for rule in [FILTER, FILTER6, NAT, MANGLE, RAW]
            .iter()
            .flat_map(|path| config.enabled(path))
        {
            for property in ["in-interface", "out-interface"] {
                let port = name(rule, property);
                let Some((port, (bridge, _))) =
                    port.and_then(|port| Some((port, config.bridge_of(port)?)))
                else {
                    continue;
                };
                let (path, bridge_name) = (rule.menu.path, quote(bridge));
                let fix = format!("{path}/set {} {property}={bridge_name}", rule.id);
                let said = format!("{property}={port}, which is a port of {bridge}");
                found.fixed(&[rule], said, vec![fix]);
            }
        }
    },
};

pub(super) const IP_ON_SLAVE_INTERFACE: Rule = Rule {
    name: "ip-on-slave-interface",
    severity: Severity::Error,
    cause: "IP works on the bridge: an address, DHCP server or DHCP client on a bridge port is unreachable or works \
            only at times",
    mend: "move it to the bridge",
    find: |config, found| {
        for path in [
            "/ip/address",
            "/ipv6/address",
            "/ip/dhcp-server",
            "/ip/dhcp-client",
            "/ipv6/dhcp-client",
        ] {
            for item in config.enabled(path) {
                let port = item.text("interface");
                if let Some((bridge, _)) = config.bridge_of(port) {
                    let fix = format!("{path}/set {} interface={}", item.id, quote(bridge));
                    let said = format!("{path} {}: {port} is a port of {bridge}", title(item));
                    found.fixed(&[item], said, vec![fix]);
                }
            }
        }
    },
};

pub(super) const VLAN_ON_SLAVE_INTERFACE: Rule = Rule {
    name: "vlan-on-slave-interface",
    severity: Severity::Error,
    cause: "the bridge takes the frames of its ports before a VLAN interface on such a port receives them",
    mend: "move the VLAN interface to the bridge, and filter VLANs in the bridge",
    find: |config, found| {
        for vlan in config.enabled(VLAN) {
            let port = vlan.text("interface");
            if let Some((bridge, _)) = config.bridge_of(port) {
                let fix = format!("{VLAN}/set {} interface={}", vlan.id, quote(bridge));
                let said = format!("{} is on {port}, a port of {bridge}", title(vlan));
                found.fixed(&[vlan], said, vec![fix]);
            }
        }
    },
};

/// Returns the VLAN interfaces on bridge ports, with the bridge.
fn bridged_vlans<'a>(config: &Config<'a>) -> Vec<(&'a Item, &'a str)> {
    let vlans = config.enabled(VLAN).into_iter();
    vlans
        .filter_map(|vlan| Some((vlan, config.bridge_of(vlan.text("name"))?.0)))
        .collect()
}

pub(super) const BRIDGE_IN_BRIDGE_VLAN: Rule = Rule {
    name: "bridge-in-bridge-vlan",
    severity: Severity::Error,
    cause: "a VLAN interface of one bridge is a port of another: frames pass both bridges, both learn the same \
            hosts, and BPDUs of one spanning tree appear in the other",
    mend: "use one bridge with vlan-filtering=yes and its VLAN table",
    find: |config, found| {
        let bridges = config.names(BRIDGE);
        for (vlan, bridge) in bridged_vlans(config) {
            let parent = vlan.text("interface");
            if bridges.contains(parent) {
                found.add(
                    &[vlan],
                    format!("{} of {parent} is a port of {bridge}", title(vlan)),
                );
            }
        }
    },
};

pub(super) const BRIDGED_VLAN_ON_PORT: Rule = Rule {
    name: "bridged-vlan-on-port",
    severity: Severity::Warning,
    cause: "a bridge with spanning tree and a VLAN interface as a port sends tagged BPDUs, which other vendors' \
            switches assign to another tree",
    mend: "use one bridge with vlan-filtering=yes whose ports are the physical interfaces",
    find: |config, found| {
        let (trees, vlans) = (with_tree(config), config.names(VLAN));
        let ports = config.ports().filter(|(port, ..)| !vlans.contains(port));
        let physical: BTreeSet<_> = ports.map(|(_, bridge, _)| bridge).collect();
        let mut told = BTreeSet::new();
        for (vlan, bridge) in bridged_vlans(config) {
            if trees.contains(bridge) && physical.contains(bridge) && told.insert(bridge) {
                let said = format!(
                    "{} is a port of {bridge}, which runs a spanning tree",
                    title(vlan)
                );
                found.add(&[vlan], said);
            }
        }
    },
};

/// Returns the bridges with a spanning tree protocol.
fn with_tree<'a>(config: &Config<'a>) -> BTreeSet<&'a str> {
    let bridges = config.enabled(BRIDGE).into_iter();
    let with = bridges.filter(|bridge| bridge.text("protocol-mode") != "none");
    with.map(|bridge| bridge.text("name")).collect()
}

pub(super) const BRIDGED_VLANS_LOOP: Rule = Rule {
    name: "bridged-vlans-loop",
    severity: Severity::Error,
    cause: "VLAN interfaces with the same VLAN ID on several ports are bridged. If the ports are also connected \
            elsewhere, this is a loop that no spanning tree detects, since its BPDUs have other tags",
    mend: "use one bridge with vlan-filtering=yes, and VLAN interfaces on it",
    find: |config, found| {
        let mut by_id: BTreeMap<_, Vec<&Item>> = BTreeMap::new();
        for (vlan, bridge) in bridged_vlans(config) {
            by_id
                .entry((bridge, vlan.number("vlan-id")))
                .or_default()
                .push(vlan);
        }
        let trees = with_tree(config);
        for ((bridge, id), vlans) in by_id {
            let parents: BTreeSet<_> = vlans.iter().map(|vlan| vlan.text("interface")).collect();
            if parents.len() > 1 && trees.contains(bridge) {
                let id = id.unwrap_or(1);
                found.add(
                    &vlans,
                    format!("{bridge} joins VLAN {id} of {}", join(&parents)),
                );
            }
        }
    },
};

fn join(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(" and ")
}

pub(super) const VLAN_IDS_MULTI_ACCESS: Rule = Rule {
    name: "vlan-ids-multi-access",
    severity: Severity::Warning,
    cause: "an entry with several VLANs sends frames of all these VLANs untagged from its access port: the VLANs \
            leak into each other",
    mend: "use one entry per VLAN with an untagged port",
    find: |config, found| {
        for entry in config.enabled("/interface/bridge/vlan") {
            let ids = shown(entry, "vlan-ids");
            if ids.contains([',', '-']) && has(entry, "untagged") {
                let said = format!("vlan-ids={ids} has untagged={}", shown(entry, "untagged"));
                found.add(&[entry], said);
            }
        }
    },
};

pub(super) const VLAN_FILTERING_LOCKOUT: Rule = Rule {
    name: "vlan-filtering-lockout",
    severity: Severity::Advice,
    cause: "the router is a port of its own bridge. Here, and in RouterOS from 7.16 on, a VLAN interface on the \
            bridge makes the router a member of the VLAN; an older RouterOS is unreachable in it",
    mend: "add the bridge to tagged= of the VLAN's entry",
    find: |config, found| {
        let addressed = config.values("/ip/address", "interface");
        let filtering = config.enabled(BRIDGE).into_iter();
        for bridge in filtering.filter(|bridge| bridge.is("vlan-filtering")) {
            let of = bridge.text("name");
            let entries = entries_by_id(config, of);
            for vlan in config.enabled(VLAN) {
                let id = vlan.number("vlan-id").and_then(|id| u16::try_from(id).ok());
                let entry = id.and_then(|id| entries.get(&id));
                let here = vlan.text("interface") == of && addressed.contains(vlan.text("name"));
                let Some(entry) = entry.filter(|_| here) else {
                    continue;
                };
                let mut tagged = words(entry.get("tagged"));
                if !tagged.contains(&of) && !words(entry.get("untagged")).contains(&of) {
                    tagged.push(of);
                    let (id, tagged) = (entry.id, quote(&tagged.join(",")));
                    let fix = format!("/interface/bridge/vlan/set {id} tagged={tagged}");
                    let said = format!("{} has an address, and {of} is no member", title(vlan));
                    found.fixed(&[entry, vlan], said, vec![fix]);
                }
            }
        }
    },
};

/// Returns a bridge's VLAN table by VLAN ID.
fn entries_by_id<'a>(config: &Config<'a>, bridge: &str) -> BTreeMap<u16, &'a Item> {
    let mut by_id = BTreeMap::new();
    let entries = config.enabled("/interface/bridge/vlan").into_iter();
    for entry in entries.filter(|entry| entry.text("bridge") == bridge) {
        for (from, to) in ranges(&shown(entry, "vlan-ids")) {
            // VLAN IDs end at 4,094, whatever the text says.
            (from..=to.min(4_094)).for_each(|id| _ = by_id.entry(id).or_insert(entry));
        }
    }
    by_id
}

pub(super) const BPDU_BY_BRIDGE_FILTER: Rule = Rule {
    name: "bpdu-by-bridge-filter",
    severity: Severity::Error,
    cause: "a bridge with spanning tree processes BPDUs before its filter: the rule drops none",
    mend: "set bpdu-guard=yes or edge=yes on the port",
    find: |config, found| {
        if with_tree(config).is_empty() {
            return;
        }
        for rule in config.enabled("/interface/bridge/filter") {
            let bpdus = shown(rule, "dst-mac-address")
                .to_uppercase()
                .starts_with("01:80:C2:00:00:00");
            if bpdus && rule.text("action") == "drop" {
                found.add(
                    &[rule],
                    String::from("the rule should drop BPDUs but sees none"),
                );
            }
        }
    },
};

pub(super) const HORIZON_DISTINCT_VALUES: Rule = Rule {
    name: "horizon-distinct-values",
    severity: Severity::Error,
    cause: "only ports with equal horizon values are isolated from each other; ports with different values exchange \
            frames",
    mend: "set one value on all ports that should be isolated from each other",
    find: |config, found| {
        let mut by_bridge: BTreeMap<&str, Vec<(String, &Item)>> = BTreeMap::new();
        for item in config.enabled("/interface/bridge/port") {
            let horizon = shown(item, "horizon");
            if !horizon.is_empty() && horizon != "none" {
                by_bridge
                    .entry(item.text("bridge"))
                    .or_default()
                    .push((horizon, item));
            }
        }
        for (bridge, ports) in by_bridge {
            let values: BTreeSet<_> = ports.iter().map(|(horizon, _)| horizon).collect();
            if ports.len() > 1 && values.len() == ports.len() {
                let items: Vec<_> = ports.iter().map(|(_, item)| *item).collect();
                found.add(
                    &items,
                    format!("each port of {bridge} has a different horizon"),
                );
            }
        }
    },
};

pub(super) const LAG_HASH_SINGLE_FLOW: Rule = Rule {
    name: "lag-hash-single-flow",
    severity: Severity::Advice,
    cause: "with transmit-hash-policy=layer-2 all packets to one neighbour use one link: towards a router the bond \
            is only as fast as one link",
    mend: "set transmit-hash-policy=layer-3-and-4 or layer-2-and-3",
    find: |config, found| {
        for bond in config.enabled("/interface/bonding") {
            let hashes = matches!(bond.text("mode"), "802.3ad" | "balance-xor");
            if hashes && matches!(bond.text("transmit-hash-policy"), "layer-2" | "") {
                let fix = format!(
                    "/interface/bonding/set {} transmit-hash-policy=layer-2-and-3",
                    bond.id
                );
                found.fixed(
                    &[bond],
                    format!("{} hashes MAC addresses only", title(bond)),
                    vec![fix],
                );
            }
        }
    },
};
