//! Unreachable rules, and unused address lists.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use menu::{Item, Value};

use crate::config::{Config, FILTER, FILTER6, MANGLE, NAT, RAW, has, shown, title};
use crate::rule::{Rule, RuleFindings, Severity};

/// Tables of rules.
const TABLES: [&str; 9] = [
    FILTER,
    FILTER6,
    NAT,
    "/ipv6/firewall/nat",
    MANGLE,
    "/ipv6/firewall/mangle",
    RAW,
    "/ipv6/firewall/raw",
    "/interface/bridge/filter",
];
/// Properties that are no matchers.
const NO_MATCHERS: &[&str] = &[
    "action",
    "address-list",
    "address-list-timeout",
    "chain",
    "comment",
    "disabled",
    "hw-offload",
    "jump-target",
    "log",
    "log-prefix",
    "reject-with",
    "randomise-ports",
    "same-not-by-dst",
    "sniff-id",
    "sniff-target",
    "sniff-target-port",
    "to-addresses",
    "to-ports",
];
/// Matchers whose result differs between equal packets.
const VARYING_MATCHERS: &[&str] = &[
    "connection-limit",
    "dst-limit",
    "limit",
    "nth",
    "psd",
    "random",
];
/// Matchers of a rule: names and values as text.
type Matchers = BTreeMap<&'static str, String>;

pub(super) const RULE_SHADOWED: Rule = Rule {
    name: "rule-shadowed",
    severity: Severity::Warning,
    cause: "an earlier rule of the chain takes every packet that this rule would match",
    mend: "move the narrower rule before the wider one, or remove it",
    find: |config, found| {
        for table in TABLES {
            let mut chains: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
            for rule in config.enabled(table) {
                chains.entry(rule.text("chain")).or_default().push(rule);
            }
            for rules in chains.into_values() {
                shadowed(&rules, found);
            }
        }
    },
};

/// Rules that end the chain for the packets they match, indexed by matcher names and values. A chain has few
/// combinations of names, however long it is.
#[derive(Default)]
struct Ends<'a>(BTreeMap<Vec<&'static str>, HashMap<Vec<String>, &'a Item>>);

impl<'a> Ends<'a> {
    fn add(&mut self, own: &Matchers, rule: &'a Item) {
        let names = own.keys().copied().collect();
        let values = own.values().cloned().collect();
        let alike = self.0.entry(names).or_default();
        alike.entry(values).or_insert(rule);
    }

    /// Returns a rule whose matchers are a subset of these.
    fn covering(&self, own: &Matchers) -> Option<&'a Item> {
        self.0.iter().find_map(|(names, alike)| {
            let values = names.iter().map(|name| own.get(name).cloned());
            alike.get(&values.collect::<Option<Vec<_>>>()?).copied()
        })
    }
}

/// Finds the rules of a chain that an earlier rule shadows.
fn shadowed(rules: &[&Item], found: &mut RuleFindings) {
    let mut ends = Ends::default();
    for rule in rules {
        let own = matchers(rule);
        if let Some(first) = ends.covering(&own) {
            // An unreachable return changes nothing.
            if rule.text("action") != "return" {
                report(rule, first, found);
            }
            continue;
        }
        let sure = !VARYING_MATCHERS.iter().any(|name| has(rule, name));
        if sure && ends_chain(rule) {
            ends.add(&own, rule);
        }
    }
}

fn report(rule: &Item, first: &Item, found: &mut RuleFindings) {
    let same = shown(first, "action") == shown(rule, "action");
    let said = format!("{} comes after {}", named(rule), named(first));
    match same && !changes(rule) {
        // Removing the rule changes nothing else.
        true => {
            let fix = format!("{}/remove {}", rule.menu.path, rule.id);
            found.fixed(&[rule, first], said, vec![fix]);
        }
        false => found.add(&[rule, first], said),
    }
}

fn matchers(rule: &Item) -> Matchers {
    let properties = rule.menu.properties();
    let own = properties.filter(|property| {
        let name = property.name;
        let says = NO_MATCHERS.contains(&name) || name.starts_with("new-") || name == "passthrough";
        !property.read_only && !says && has(rule, name)
    });
    own.map(|property| (property.name, shown(rule, property.name)))
        .collect()
}

/// Returns true if packets that match the rule leave the chain.
fn ends_chain(rule: &Item) -> bool {
    match rule.text("action") {
        "" | "accept" | "drop" | "reject" | "tarpit" | "return" | "masquerade" | "src-nat"
        | "dst-nat" | "redirect" | "netmap" | "same" => true,
        mark if mark.starts_with("mark-") => {
            rule.get("passthrough").and_then(Value::as_bool) == Some(false)
        }
        _ => false,
    }
}

/// Returns true if the rule does more than accept or drop.
fn changes(rule: &Item) -> bool {
    rule.is("log") || !matches!(rule.text("action"), "" | "accept" | "drop" | "return")
}

/// Names a rule in a message: by its comment, or by action and matchers.
fn named(rule: &Item) -> String {
    let comment = shown(rule, "comment");
    if !comment.is_empty() {
        return format!("\u{201c}{comment}\u{201d}");
    }
    let matchers = matchers(rule).into_iter();
    let matchers = matchers.map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", title(rule), matchers.collect::<String>())
}

pub(super) const ADDRESS_LIST_UNUSED: Rule = Rule {
    name: "address-list-unused",
    severity: Severity::Advice,
    cause: "no rule uses the address list, so its entries have no effect",
    mend: "use the list in src-address-list or dst-address-list of a rule, or remove it",
    find: |config, found| {
        for (family, others) in [("/ip", IP_USERS), ("/ipv6", IP6_USERS)] {
            let menu = format!("{family}/firewall/address-list");
            let mut lists: BTreeMap<&str, (&Item, usize)> = BTreeMap::new();
            for entry in config.enabled(&menu) {
                lists.entry(entry.text("list")).or_insert((entry, 0)).1 += 1;
            }
            // A file that contains address lists alone is part of a larger configuration.
            if lists.is_empty() || others.iter().all(|menu| config.all(menu).is_empty()) {
                continue;
            }
            let used = used(config, others);
            let scripts = scripts(config);
            for (list, (entry, count)) in lists {
                if !used.contains(list) && !scripts.iter().any(|text| text.contains(list)) {
                    let said = format!("no rule uses {list} with {count} entries");
                    found.add(&[entry], said);
                }
            }
        }
    },
};

/// Menus whose items may name address lists.
const IP_USERS: &[&str] = &[FILTER, NAT, MANGLE, RAW];
const IP6_USERS: &[&str] = &[
    FILTER6,
    "/ipv6/firewall/nat",
    "/ipv6/firewall/mangle",
    "/ipv6/firewall/raw",
];

/// Returns the address lists that rules match or fill, disabled rules included.
fn used(config: &Config<'_>, menus: &[&'static str]) -> BTreeSet<String> {
    let rules = menus.iter().flat_map(|menu| config.all(menu));
    let names = rules
        .flat_map(|rule| ["src-address-list", "dst-address-list"].map(|name| shown(rule, name)));
    names
        .map(|name| name.trim_start_matches('!').to_owned())
        .collect()
}

/// Returns scripts, routing filters and BGP networks, which may name address lists.
fn scripts<'a>(config: &Config<'a>) -> Vec<&'a str> {
    let mut texts = Vec::new();
    for (menu, property) in [
        ("/system/script", "source"),
        ("/system/scheduler", "on-event"),
        ("/tool/netwatch", "up-script"),
        ("/tool/netwatch", "down-script"),
        ("/ip/dhcp-server", "lease-script"),
        ("/ip/dhcp-client", "script"),
        ("/routing/filter/rule", "rule"),
        ("/routing/bgp/connection", "output.network"),
        ("/routing/bgp/template", "output.network"),
        ("/ip/ipsec/mode-config", "src-address-list"),
    ] {
        texts.extend(config.all(menu).iter().map(|item| item.text(property)));
    }
    texts
}
