//! The configuration as rules ask for it.

use std::collections::{BTreeMap, BTreeSet};

use menu::{Item, Store, Value};

pub(crate) const FILTER: &str = "/ip/firewall/filter";
pub(crate) const FILTER6: &str = "/ipv6/firewall/filter";
pub(crate) const NAT: &str = "/ip/firewall/nat";
pub(crate) const MANGLE: &str = "/ip/firewall/mangle";
pub(crate) const RAW: &str = "/ip/firewall/raw";

/// See the module.
#[derive(Debug)]
pub(crate) struct Config<'a> {
    store: &'a Store,
    /// Ports of bridges: the bridge, and the item that says so.
    ports: BTreeMap<&'a str, (&'a str, &'a Item)>,
    /// Members of lists of interfaces.
    lists: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Config<'a> {
    pub(crate) fn of(store: &'a Store) -> Self {
        let mut config = Self {
            store,
            ports: BTreeMap::new(),
            lists: BTreeMap::new(),
        };
        for item in config.enabled("/interface/list/member") {
            let list = config.lists.entry(item.text("list")).or_default();
            list.insert(item.text("interface"));
        }
        for item in config.enabled("/interface/bridge/port") {
            let name = item.text("interface");
            let members = config.lists.get(name).cloned().unwrap_or_default();
            for port in members.into_iter().chain([name]) {
                config
                    .ports
                    .entry(port)
                    .or_insert((item.text("bridge"), item));
            }
        }
        config
    }

    /// The items of a menu that are not disabled, in their order.
    pub(crate) fn enabled(&self, path: &str) -> Vec<&'a Item> {
        let items = self.store.items(path).map(|item| &**item);
        items.filter(|item| !item.is("disabled")).collect()
    }

    /// The settings of a menu.
    pub(crate) fn settings(&self, path: &str) -> Option<&'a Item> {
        self.store.settings(path).map(|item| &**item)
    }

    /// The rules of a chain that are not disabled, in their order.
    pub(crate) fn chain(&self, path: &str, chain: &str) -> Vec<&'a Item> {
        let mut rules = self.enabled(path);
        rules.retain(|rule| rule.text("chain") == chain);
        rules
    }

    /// The bridge that an interface is a port of, and the item that says so.
    pub(crate) fn bridge_of(&self, port: &str) -> Option<(&'a str, &'a Item)> {
        self.ports.get(port).copied()
    }

    /// All ports of bridges.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a Item)> {
        let ports = self.ports.iter();
        ports.map(|(port, (bridge, item))| (*port, *bridge, *item))
    }

    /// Whether an interface is in a list.
    pub(crate) fn is_in(&self, interface: &str, list: &str) -> bool {
        let named = |list: &str| {
            self.lists
                .get(list)
                .is_some_and(|list| list.contains(interface))
        };
        list == "all" || named(list) || self.included(list).any(named)
    }

    /// The lists that a list includes.
    fn included(&self, list: &str) -> impl Iterator<Item = &'a str> {
        let mut items = self.store.items("/interface/list");
        let item = items.find(|item| item.text("name") == list);
        words(item.and_then(|item| item.get("include"))).into_iter()
    }

    /// The interfaces that lead to strangers: with a DHCP client, a client of PPP, or masqueraded.
    pub(crate) fn wan(&self) -> BTreeSet<&'a str> {
        let mut wan = BTreeSet::new();
        wan.extend(
            self.enabled("/ip/dhcp-client")
                .iter()
                .map(|item| item.text("interface")),
        );
        for menu in [
            "/interface/pppoe-client",
            "/interface/lte",
            "/interface/ppp-client",
        ] {
            wan.extend(self.enabled(menu).iter().map(|item| item.text("name")));
        }
        for rule in self.enabled(NAT) {
            if matches!(rule.text("action"), "masquerade" | "src-nat") {
                wan.extend(name(rule, "out-interface"));
                let list = name(rule, "out-interface-list").and_then(|list| self.lists.get(list));
                wan.extend(list.into_iter().flatten());
            }
        }
        wan.remove("");
        wan
    }

    /// Policies of IPsec that encrypt.
    pub(crate) fn policies(&self) -> Vec<&'a Item> {
        let mut all = self.enabled("/ip/ipsec/policy");
        all.retain(|item| {
            !item.is("template") && !matches!(item.text("action"), "none" | "discard")
        });
        all
    }

    /// The rules that send connections by FastTrack.
    pub(crate) fn fasttracks(&self) -> Vec<&'a Item> {
        let mut rules = self.enabled(FILTER);
        rules.retain(|rule| rule.text("action") == "fasttrack-connection");
        rules
    }
}

/// The words of a value: of a list each, of one word that; of what is negated none.
pub(crate) fn words(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::List(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(one) => one.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

/// The name that a property has, unless it is negated.
pub(crate) fn name<'a>(item: &'a Item, property: &str) -> Option<&'a str> {
    let name = item.get(property)?.as_str()?;
    (!name.is_empty()).then_some(name)
}

/// A property as it is typed; empty if unset.
pub(crate) fn shown(item: &Item, property: &str) -> String {
    item.get(property)
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Whether a property is set to something.
pub(crate) fn has(item: &Item, property: &str) -> bool {
    item.get(property).is_some_and(|value| !value.is_empty())
}

/// Whether one of these properties is set.
pub(crate) fn has_any(item: &Item, properties: &[&str]) -> bool {
    properties.iter().any(|property| has(item, property))
}

/// A rate in bits a second; 0: none.
pub(crate) fn rate(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Rate(rate) | Value::Number(rate)) => u64::try_from(*rate).unwrap_or(0),
        _ => 0,
    }
}

/// One of two values; the only one stands for both.
pub(crate) fn side<'a>(item: &'a Item, property: &str, at: usize) -> Option<&'a Value> {
    match item.get(property)? {
        Value::Tuple(_, values) => values.get(at).or_else(|| values.first()),
        one => Some(one),
    }
}

/// How an item is written in a sentence.
pub(crate) fn title(item: &Item) -> String {
    match item.title() {
        title if title.is_empty() && has(item, "chain") => {
            let action = name(item, "action").unwrap_or("accept");
            format!("{action} in {}", item.text("chain"))
        }
        title if title.is_empty() => item.menu.path.to_owned(),
        title => title,
    }
}
