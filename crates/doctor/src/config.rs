//! Queries of rules to the configuration.

use std::collections::{BTreeMap, BTreeSet};

use board::Board;
use menu::{Item, Store, Value};

/// Menu of the IPv4 filter.
pub const FILTER: &str = "/ip/firewall/filter";
/// Menu of the IPv6 filter.
pub const FILTER6: &str = "/ipv6/firewall/filter";
/// Menu of IPv4 NAT.
pub const NAT: &str = "/ip/firewall/nat";
pub(crate) const MANGLE: &str = "/ip/firewall/mangle";
/// Menu of the IPv4 rules before connection tracking.
pub const RAW: &str = "/ip/firewall/raw";
/// Maximum nesting of interface lists that is followed.
const MAX_LIST_DEPTH: usize = 8;

/// Configuration with indices for the queries of rules.
#[derive(Debug)]
pub struct Config<'a> {
    store: &'a Store,
    /// Bridge ports: bridge and item of each interface.
    ports: BTreeMap<&'a str, (&'a str, &'a Item)>,
    /// Members of each interface list.
    lists: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Enabled firewall rules by table and chain.
    chains: BTreeMap<&'static str, BTreeMap<&'a str, Vec<&'a Item>>>,
    board: Option<BoardContext<'a>>,
}

/// A board, and the devices that its chips switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoardContext<'a> {
    pub(crate) board: &'static Board,
    pub(crate) switched: &'a BTreeSet<&'a str>,
}

impl<'a> Config<'a> {
    /// Indexes the items of a store.
    pub fn of(store: &'a Store) -> Self {
        let mut config = Self {
            store,
            ports: BTreeMap::new(),
            lists: BTreeMap::new(),
            chains: BTreeMap::new(),
            board: None,
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

    /// Returns the configuration on a board whose chips switch these devices.
    pub(crate) fn on(
        store: &'a Store,
        board: &'static Board,
        switched: &'a BTreeSet<&'a str>,
    ) -> Self {
        Self {
            board: Some(BoardContext { board, switched }),
            ..Self::of(store)
        }
    }

    /// Returns the board, if it is known.
    pub(crate) const fn board(&self) -> Option<BoardContext<'a>> {
        self.board
    }

    /// Returns the device of an interface; other interfaces keep their names.
    pub(crate) fn device(&self, interface: &'a str) -> &'a str {
        let item = self.store.named("interface", interface);
        let device = item.map(|item| item.text("default-name"));
        device
            .filter(|device| !device.is_empty())
            .unwrap_or(interface)
    }

    /// Returns the configuration.
    pub(crate) const fn store(&self) -> &'a Store {
        self.store
    }

    /// Returns the enabled items of a menu, in order.
    pub fn enabled(&self, path: &str) -> Vec<&'a Item> {
        let items = self.store.items(path).map(|item| &**item);
        items.filter(|item| !item.is("disabled")).collect()
    }

    /// Returns all items of a menu, in order.
    pub(crate) fn all(&self, path: &str) -> Vec<&'a Item> {
        self.store.items(path).map(|item| &**item).collect()
    }

    /// Returns the names of the enabled items of a menu.
    pub fn names(&self, path: &str) -> BTreeSet<&'a str> {
        self.values(path, "name")
    }

    /// Returns the words of a property in the enabled items of a menu.
    pub(crate) fn values(&self, path: &str, property: &str) -> BTreeSet<&'a str> {
        self.enabled(path)
            .iter()
            .map(|item| item.text(property))
            .collect()
    }

    /// Returns the settings of a menu.
    pub fn settings(&self, path: &str) -> Option<&'a Item> {
        self.store.settings(path).map(|item| &**item)
    }

    /// Returns true for a physical Ethernet port.
    pub(crate) fn is_ethernet(&self, interface: &str) -> bool {
        let item = self.store.named("interface", interface);
        item.is_some_and(|item| item.menu.path == "/interface/ethernet")
    }

    /// Counts the uplinks: default routes, and interfaces whose provider assigns one.
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

    /// Returns the enabled rules of a chain, in order.
    pub fn chain(&self, path: &str, chain: &str) -> &[&'a Item] {
        let rules = self.chains.get(path).and_then(|chains| chains.get(chain));
        rules.map_or(&[], |rules| rules)
    }

    /// Returns the bridge and the bridge port item of an interface.
    pub fn bridge_of(&self, port: &str) -> Option<(&'a str, &'a Item)> {
        self.ports.get(port).copied()
    }

    /// Iterates over bridge ports: interface, bridge, item.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a Item)> {
        let ports = self.ports.iter();
        ports.map(|(port, (bridge, item))| (*port, *bridge, *item))
    }

    /// Returns true if an interface list contains the interface, directly or by an included list.
    pub fn is_in(&self, interface: &str, list: &str) -> bool {
        self.is_within(interface, list, MAX_LIST_DEPTH)
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

    /// Returns the interfaces towards the Internet: with a DHCP client, a PPP client, or masquerade.
    pub fn wan(&self) -> BTreeSet<&'a str> {
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
            // Rules for some destinations name no uplink: hairpin NAT leaves by the inside, NAT for a site by a tunnel.
            let is_narrow = ["dst-address", "dst-address-list"]
                .iter()
                .any(|property| has(rule, property) && !is_negated(rule, property));
            if is_narrow || !matches!(rule.text("action"), "masquerade" | "src-nat") {
                continue;
            }
            wan.extend(name(rule, "out-interface"));
            if let Some(list) = name(rule, "out-interface-list") {
                wan.extend(self.members(list));
            }
        }
        wan.remove("");
        wan
    }

    /// Returns the members of an interface list, also by included lists; none of the list of all interfaces.
    fn members(&self, list: &str) -> BTreeSet<&'a str> {
        let listed = self.lists.values().flatten().copied();
        let names: BTreeSet<_> = match list {
            "all" => BTreeSet::new(),
            _ => listed.chain(self.store.names("interface")).collect(),
        };
        let members = names.into_iter().filter(|name| self.is_in(name, list));
        members.collect()
    }

    /// Returns the IPsec policies that encrypt.
    pub fn policies(&self) -> Vec<&'a Item> {
        let mut all = self.enabled("/ip/ipsec/policy");
        all.retain(|item| {
            !item.is("template") && !matches!(item.text("action"), "none" | "discard")
        });
        all
    }

    /// Returns the rules with action `fasttrack-connection`.
    pub(crate) fn fasttracks(&self) -> Vec<&'a Item> {
        let mut rules = self.enabled(FILTER);
        rules.retain(|rule| rule.text("action") == "fasttrack-connection");
        rules
    }
}

/// Returns the words of a value: all of a list, the word itself, none of a negated value.
pub fn words(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::List(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(one) => one.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

/// Returns the name in a property; `None` if negated.
pub(crate) fn name<'a>(item: &'a Item, property: &str) -> Option<&'a str> {
    let name = item.get(property)?.as_str()?;
    (!name.is_empty()).then_some(name)
}

/// Returns a property as text; empty if unset.
pub fn shown(item: &Item, property: &str) -> String {
    item.get(property)
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns true if a property is set.
pub fn has(item: &Item, property: &str) -> bool {
    item.get(property).is_some_and(|value| !value.is_empty())
}

/// Returns true if a matcher is negated.
fn is_negated(item: &Item, property: &str) -> bool {
    matches!(item.get(property), Some(Value::Not(_)))
}

/// Returns true if one of these properties is set.
pub(crate) fn has_any(item: &Item, properties: &[&str]) -> bool {
    properties.iter().any(|property| has(item, property))
}

/// Returns a rate in bits per second; 0 means none.
pub(crate) fn rate(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Rate(rate) | Value::Number(rate)) => u64::try_from(*rate).unwrap_or(0),
        _ => 0,
    }
}

/// Returns one of two values; a single value stands for both.
pub(crate) fn side<'a>(item: &'a Item, property: &str, at: usize) -> Option<&'a Value> {
    match item.get(property)? {
        Value::Tuple(_, values) => values.get(at).or_else(|| values.first()),
        one => Some(one),
    }
}

/// Returns the name of an item for messages.
pub fn title(item: &Item) -> String {
    match item.title() {
        title if title.is_empty() && has(item, "chain") => {
            let action = name(item, "action").unwrap_or("accept");
            format!("{action} in {}", item.text("chain"))
        }
        title if title.is_empty() => item.menu.path.to_owned(),
        title => title,
    }
}
