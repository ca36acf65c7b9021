//! Settings of `/tool/graphing`: graphed interfaces and queues, permitted clients, interval of writing to disk.

use core::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Value};

/// What a graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// Traffic of an interface.
    Interface,
    /// Traffic of a simple queue.
    Queue,
    /// Load of all processors.
    Processor,
    /// Memory in use.
    Memory,
    /// Space in use on the disk with the router's state.
    Disk,
}

impl GraphKind {
    /// Resources, which have one graph each.
    pub const RESOURCES: [Self; 3] = [Self::Processor, Self::Memory, Self::Disk];
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Interface,
        Self::Queue,
        Self::Processor,
        Self::Memory,
        Self::Disk,
    ];

    /// Returns RouterOS's name of the kind in paths below `/graphs`.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Interface => "iface",
            Self::Queue => "queue",
            Self::Processor => "cpu",
            Self::Memory => "ram",
            Self::Disk => "hdd",
        }
    }
}

/// An enabled item of `/tool/graphing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GraphRule {
    /// Name of the interface or simple queue; `None` for all.
    pub(crate) name: Option<String>,
    /// Clients that may see the graphs.
    pub(crate) allowed: Option<IpNet>,
    /// Whether the samples are stored.
    pub(crate) stores: bool,
    /// Whether the targets of the queue may see its graphs.
    pub(crate) allows_target: bool,
}

impl GraphRule {
    /// Reads an item; `property` names its interface or queue.
    pub(crate) fn of(item: &Item, property: &str) -> Self {
        let is_set = |name: &str| item.get(name).and_then(Value::as_bool) != Some(false);
        let name = item.get(property).map(ToString::to_string);
        Self {
            name: name.filter(|name| name != "all"),
            allowed: item.get("allow-address").and_then(Value::as_prefix),
            stores: is_set("store-on-disk"),
            allows_target: is_set("allow-target"),
        }
    }

    fn is_about(&self, name: &str) -> bool {
        self.name.as_ref().is_none_or(|own| own == name)
    }

    fn admits(&self, client: IpAddr) -> bool {
        match self.allowed {
            // RouterOS: the default 0.0.0.0/0 admits everybody.
            Some(IpNet::V4(all)) if all.prefix_len() == 0 => true,
            Some(network) => network.contains(&client.to_canonical()),
            None => true,
        }
    }
}

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Graphing {
    pub(crate) interfaces: Vec<GraphRule>,
    pub(crate) queues: Vec<GraphRule>,
    pub(crate) resources: Vec<GraphRule>,
    /// Minutes between two writes to the disk; 0 without settings.
    pub(crate) store_minutes: u64,
    /// Seconds after which a page loads itself again.
    pub(crate) refresh_seconds: Option<u64>,
}

impl Graphing {
    fn rules(&self, kind: GraphKind) -> &[GraphRule] {
        match kind {
            GraphKind::Interface => &self.interfaces,
            GraphKind::Queue => &self.queues,
            _ => &self.resources,
        }
    }

    /// Returns true if anything has graphs.
    pub(crate) fn is_used(&self) -> bool {
        let all = [&self.interfaces, &self.queues, &self.resources];
        all.iter().any(|rules| !rules.is_empty())
    }

    /// Returns true if the samples of a thing are stored. Things without graphs are: the page shows them.
    pub(crate) fn stores(&self, kind: GraphKind, name: &str) -> bool {
        let mut rules = self.rules(kind).iter().filter(|rule| rule.is_about(name));
        let Some(first) = rules.next() else {
            return true;
        };
        first.stores || rules.any(|rule| rule.stores)
    }

    /// Returns true if a client may see a graph. `is_target`: the client is a target of the queue.
    pub(crate) fn admits(
        &self,
        kind: GraphKind,
        name: &str,
        client: IpAddr,
        is_target: impl Fn() -> bool,
    ) -> bool {
        let mut rules = self.rules(kind).iter().filter(|rule| rule.is_about(name));
        let has_targets = kind == GraphKind::Queue;
        rules.any(|rule| rule.admits(client) || has_targets && rule.allows_target && is_target())
    }

    /// Returns the named things of a kind, and whether all others have graphs too.
    pub(crate) fn named(&self, kind: GraphKind) -> (impl Iterator<Item = &str>, bool) {
        let rules = self.rules(kind);
        let all = rules.iter().any(|rule| rule.name.is_none());
        (rules.iter().filter_map(|rule| rule.name.as_deref()), all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: Option<&str>, allowed: &str, stores: bool) -> GraphRule {
        GraphRule {
            name: name.map(str::to_owned),
            allowed: allowed.parse().ok(),
            stores,
            allows_target: true,
        }
    }

    #[test]
    fn only_named_graphs_are_shown_and_only_to_allowed_clients() {
        let graphing = Graphing {
            interfaces: vec![rule(Some("ether1"), "10.0.0.0/8", true)],
            queues: vec![rule(None, "192.0.2.1/32", true)],
            ..Graphing::default()
        };
        let client: IpAddr = "10.1.2.3".parse().expect("an address");
        let mapped: IpAddr = "::ffff:10.1.2.3".parse().expect("an address");
        let other: IpAddr = "203.0.113.9".parse().expect("an address");
        let sees = |kind, name, client| graphing.admits(kind, name, client, || false);
        assert!(sees(GraphKind::Interface, "ether1", client));
        assert!(sees(GraphKind::Interface, "ether1", mapped));
        assert!(!sees(GraphKind::Interface, "ether1", other));
        assert!(!sees(GraphKind::Interface, "ether2", client));
        assert!(!sees(GraphKind::Processor, "", client), "no item names it");
        assert!(
            graphing.admits(GraphKind::Queue, "q", client, || true),
            "its target"
        );
        assert!(!graphing.admits(GraphKind::Interface, "ether1", other, || true));
        let everybody = rule(None, "0.0.0.0/0", true);
        assert!(everybody.admits("2001:db8::1".parse().expect("an address")));
    }

    #[test]
    fn samples_are_stored_unless_all_items_about_them_refuse() {
        let graphing = Graphing {
            interfaces: vec![
                rule(Some("ether1"), "0.0.0.0/0", false),
                rule(Some("ether2"), "0.0.0.0/0", false),
                rule(Some("ether2"), "0.0.0.0/0", true),
            ],
            ..Graphing::default()
        };
        let stores = |name| graphing.stores(GraphKind::Interface, name);
        assert_eq!(
            ["ether1", "ether2", "ether3"].map(stores),
            [false, true, true]
        );
    }
}
