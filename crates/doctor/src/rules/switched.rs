//! Bridge filter and NAT rules for frames that a switch chip forwards.

use std::collections::BTreeMap;

use menu::{Item, Value};

use crate::config::{Config, has, shown, title};
use crate::rule::{Rule, Severity};

const PORT: &str = "/interface/bridge/port";
/// Chains of frames between ports of one bridge.
const CHAINS: [(&str, &[&str]); 2] = [
    ("/interface/bridge/filter", &["forward"]),
    ("/interface/bridge/nat", &["srcnat", "dstnat"]),
];

pub(super) const BRIDGE_RULE_SWITCHED: Rule = Rule {
    name: "bridge-rule-switched",
    severity: Severity::Warning,
    cause: "a switch chip forwards frames between ports with hw=yes itself: rules of the bridge's filter or NAT \
            never see these frames and protect nothing",
    mend: "set hw=no on the port that the rule should protect, such as the guests' port: the rule then sees its \
           frames",
    find: |config, found| {
        let bridges = switched(config);
        for (path, chains) in CHAINS {
            for rule in config.enabled(path) {
                let acts = !matches!(
                    rule.text("action"),
                    "" | "accept" | "passthrough" | "return"
                );
                if !acts || !chains.contains(&rule.text("chain")) {
                    continue;
                }
                for (bridge, ports) in &bridges {
                    let Some(missed) = Missed::by(config, rule, bridge, ports) else {
                        continue;
                    };
                    let said = format!(
                        "{} does not see frames that the switch forwards between {} and {}",
                        title(rule),
                        missed.ingress.name,
                        missed.egress.name
                    );
                    let fix = missed.guarded(config, rule);
                    let fix = fix
                        .iter()
                        .map(|port| format!("{PORT}/set {} hw=no", port.item.id));
                    found.fixed(&[rule, missed.ingress.item], said, fix.collect());
                }
            }
        }
    },
};

/// A bridge port that may be on a switch chip.
#[derive(Clone, Copy)]
struct Port<'a> {
    name: &'a str,
    item: &'a Item,
}

/// Returns the Ethernet ports with `hw=yes` of each bridge.
fn switched<'a>(config: &Config<'a>) -> BTreeMap<&'a str, Vec<Port<'a>>> {
    let mut bridges: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, bridge, item) in config.ports() {
        let hw = item.is("hw") || !has(item, "hw");
        if hw && config.is_ethernet(name) {
            bridges.entry(bridge).or_default().push(Port { name, item });
        }
    }
    bridges
}

/// Ports between which the switch chip forwards frames that a rule matches.
struct Missed<'a> {
    ingress: Port<'a>,
    egress: Port<'a>,
    all: Vec<Port<'a>>,
}

impl<'a> Missed<'a> {
    fn by(config: &Config<'_>, rule: &Item, bridge: &str, ports: &[Port<'a>]) -> Option<Self> {
        let side = |side: &str| {
            let of_side = ports.iter().copied();
            of_side
                .filter(|port| matches_port(config, rule, side, bridge, port.name))
                .collect::<Vec<_>>()
        };
        let (ingress, egress) = (side("in"), side("out"));
        let pairs = ingress
            .iter()
            .flat_map(|from| egress.iter().map(move |to| (*from, *to)));
        let mut pairs = pairs.filter(|(from, to)| from.name != to.name);
        let (from, to) = pairs.next()?;
        Some(Self {
            ingress: from,
            egress: to,
            all: ports.to_vec(),
        })
    }

    /// Returns the ports that the rule names, which have to leave the switch chip; empty if the rule names
    /// none, or all except some.
    fn guarded(&self, config: &Config<'_>, rule: &Item) -> Vec<Port<'a>> {
        for property in [
            "in-interface",
            "in-interface-list",
            "out-interface",
            "out-interface-list",
        ] {
            let Some(name) = rule
                .get(property)
                .and_then(Value::as_str)
                .filter(|name| !name.is_empty())
            else {
                continue;
            };
            let is_named = |port: &&Port<'_>| match property.ends_with("list") {
                true => config.is_in(port.name, name),
                false => port.name == name,
            };
            return self.all.iter().filter(is_named).copied().collect();
        }
        Vec::new()
    }
}

/// Returns true if a rule matches frames of a port, as ingress (`in`) or egress (`out`).
fn matches_port(config: &Config<'_>, rule: &Item, side: &str, bridge: &str, port: &str) -> bool {
    let asks = |property: &str, matches: &dyn Fn(&str) -> bool| {
        let property = format!("{side}-{property}");
        match rule.get(&property) {
            _ if shown(rule, &property).is_empty() => true,
            Some(Value::Not(value)) => !value.as_str().is_some_and(matches),
            value => value.and_then(Value::as_str).is_none_or(matches),
        }
    };
    asks("interface", &|name| name == port)
        && asks("interface-list", &|list| config.is_in(port, list))
        && asks("bridge", &|name| name == bridge)
        && asks("bridge-list", &|list| config.is_in(bridge, list))
}
