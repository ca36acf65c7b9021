//! The configuration as rules ask for it.

use std::collections::{BTreeMap, BTreeSet};

use menu::{Item, Store, Value};

pub(crate) const FILTER: &str = "/ip/firewall/filter";
pub(crate) const FILTER6: &str = "/ipv6/firewall/filter";
pub(crate) const NAT: &str = "/ip/firewall/nat";
pub(crate) const MANGLE: &str = "/ip/firewall/mangle";
pub(crate) const RAW: &str = "/ip/firewall/raw";
/// How deep lists of interfaces are within each other, as far as it is followed.
const LISTS_DEEP: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Config<'a> {
    store: &'a Store,
    /// Ports of bridges: the bridge, and the item that says so.
    ports: BTreeMap<&'a str, (&'a str, &'a Item)>,
    /// Members of lists of interfaces.
    lists: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Rules of the firewall that are not disabled, by table and chain.
    chains: BTreeMap<&'static str, BTreeMap<&'a str, Vec<&'a Item>>>,
}

impl<'a> Config<'a> {
    pub(crate) fn of(store: &'a Store) -> Self {
        let mut config = Self {
            store,
            ports: BTreeMap::new(),
            lists: BTreeMap::new(),
            chains: BTreeMap::new(),
        };
        for path in [FILTER, FILTER6, NAT, MANGLE, RAW] {
            let mut chains: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for rule in config.enabled(path) {
                chains.entry(rule.text("chain")).or_default().push(rule);
            }
            config.chains.insert(path, chains);
        }
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

    /// All items of a menu, in their order.
    pub(crate) fn all(&self, path: &str) -> Vec<&'a Item> {
        self.store.items(path).map(|item| &**item).collect()
    }

    /// The names of the items of a menu that are not disabled.
    pub(crate) fn names(&self, path: &str) -> BTreeSet<&'a str> {
        self.values(path, "name")
    }

    /// The words that a property has in the items of a menu that are not disabled.
    pub(crate) fn values(&self, path: &str, property: &str) -> BTreeSet<&'a str> {
        self.enabled(path)
            .iter()
            .map(|item| item.text(property))
            .collect()
    }

    /// The settings of a menu.
    pub(crate) fn settings(&self, path: &str) -> Option<&'a Item> {
        self.store.settings(path).map(|item| &**item)
    }

    /// Whether an interface is an Ethernet port of the machine.
    pub(crate) fn is_ethernet(&self, interface: &str) -> bool {
        let item = self.store.named("interface", interface);
        item.is_some_and(|item| item.menu.path == "/interface/ethernet")
    }

    /// Ways to the Internet: default routes, and interfaces whose provider tells one.
    pub(crate) fn uplinks(&self) -> usize {
        let routes = self.enabled("/ip/route").into_iter();
        let routes = routes.filter(|route| shown(route, "dst-address") == "0.0.0.0/0");
        let gateways = routes.map(|route| 1 + shown(route, "gateway").matches(',').count());
        let told = [
            "/ip/dhcp-client",
            "/interface/pppoe-client",
            "/interface/lte",
            "/interface/ppp-client",
        ];
        gateways.sum::<usize>()
            + told
                .iter()
                .map(|menu| self.enabled(menu).len())
                .sum::<usize>()
    }

    /// The rules of a chain that are not disabled, in their order.
    pub(crate) fn chain(&self, path: &str, chain: &str) -> &[&'a Item] {
        let rules = self.chains.get(path).and_then(|chains| chains.get(chain));
        rules.map_or(&[], |rules| rules)
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

    /// Whether an interface is in a list, by itself or by lists within it.
    pub(crate) fn is_in(&self, interface: &str, list: &str) -> bool {
        self.is_within(interface, list, LISTS_DEEP)
    }

    fn is_within(&self, interface: &str, list: &str, deep: usize) -> bool {
        let own = self.lists.get(list);
        if list == "all" || own.is_some_and(|own| own.contains(interface)) {
            return true;
        }
        let item = self.store.named("interface-list", list);
        let (Some(item), true) = (item, deep > 0) else {
            return false;
        };
        let any = |property: &str| {
            let lists = words(item.get(property)).into_iter();
            lists
                .into_iter()
                .any(|list| self.is_within(interface, list, deep - 1))
        };
        any("include") && !any("exclude")
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
