//! Matchers of a rule as classes of packets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use doctor::config::{Config, shown, words};
use ipnet::IpNet;
use menu::{Item, Value};

use crate::addressing::{Addressing, number};
use crate::ranges::{Class, Field, Ranges, STATES};

/// Returns the number of an IP protocol.
pub type ProtocolNumber = fn(&Value) -> Option<u8>;

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
    "randomise-ports",
    "reject-with",
    "same-not-by-dst",
    "to-address",
    "to-addresses",
    "to-ports",
];

/// What the matchers of one configuration refer to.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub(crate) config: Config<'a>,
    /// Interfaces of the configurations that are compared; their order gives their numbers.
    pub(crate) interfaces: &'a [String],
    pub(crate) is_ipv6: bool,
    protocols: ProtocolNumber,
    /// Static entries of address lists; `None` if the list has names or is filled at run time.
    lists: BTreeMap<&'a str, Option<Ranges>>,
    pub(crate) addressing: Addressing,
}

/// Menus and properties with names of address lists that the router fills.
const FILLED: &[(&str, &str)] = &[
    ("/ip/dhcp-server", "address-lists"),
    ("/ip/dhcp-server/lease", "address-lists"),
    ("/ip/dns/static", "address-list"),
    ("/ip/hotspot/user/profile", "address-list"),
    ("/ipv6/dhcp-client", "prefix-address-lists"),
    ("/ipv6/dhcp-server", "address-lists"),
    ("/ipv6/dhcp-server/binding", "address-lists"),
    ("/ppp/profile", "address-list"),
];

/// A rule as classes of the packets that it matches.
#[derive(Clone, Debug)]
pub(crate) struct Matched {
    /// Packets that fulfil the decidable matchers; several classes for `port`.
    pub(crate) classes: Vec<Class>,
    /// Matchers that depend on more than the fields of a class.
    pub(crate) undecided: Vec<&'static str>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        store: &'a menu::Store,
        interfaces: &'a [String],
        is_ipv6: bool,
        protocols: ProtocolNumber,
    ) -> Self {
        let config = Config::of(store);
        let lists = address_lists(&config, is_ipv6);
        let addressing = Addressing::new(&config, interfaces, is_ipv6);
        Self {
            config,
            interfaces,
            is_ipv6,
            protocols,
            lists,
            addressing,
        }
    }

    /// Returns the class of all packets.
    pub(crate) fn all(&self) -> Class {
        Class::all(self.is_ipv6, self.interfaces.len())
    }

    /// Returns first and last address of an address, prefix or range of the family.
    pub(crate) fn addresses(&self, text: &str) -> Option<(u128, u128)> {
        addresses(text, self.is_ipv6)
    }

    /// Returns the numbers of the interfaces that fulfil a condition.
    pub(crate) fn interfaces_that(&self, is: impl Fn(&str) -> bool) -> Ranges {
        let numbered = self.interfaces.iter().enumerate();
        let fitting = numbered.filter(|(_, name)| is(name));
        Ranges::new(fitting.map(|(at, _)| (at as u128, at as u128)))
    }

    /// Returns the packets that a rule matches.
    pub(crate) fn matched(&self, rule: &Item) -> Matched {
        let all = self.all();
        let mut matched = Matched {
            classes: vec![all.clone()],
            undecided: Vec::new(),
        };
        for (property, value) in rule.values() {
            if NO_MATCHERS.contains(&property.name) || property.read_only || value.is_empty() {
                continue;
            }
            let (value, is_negated) = match value {
                Value::Not(value) => (&**value, true),
                value => (value, false),
            };
            let mut fields = self.fields(property.name, value);
            if fields.is_none() {
                matched.undecided.push(property.name);
                fields = self.possible(property.name, value, is_negated);
            }
            let Some(fields) = fields else {
                continue;
            };
            let limits = fields.into_iter().map(|(field, values)| match is_negated {
                true => (field, all.values(field).subtract(&values)),
                false => (field, values),
            });
            matched.limit(limits.collect(), is_negated);
        }
        matched.classes.retain(|class| !class.is_empty());
        matched
    }

    /// Returns the field values that an undecided matcher possibly takes or, negated, surely refuses. `None` if it says
    /// nothing about the fields.
    fn possible(
        &self,
        property: &str,
        value: &Value,
        is_negated: bool,
    ) -> Option<Vec<(Field, Ranges)>> {
        let is_local = property == "dst-address-type" && value.to_string() == "local";
        let addresses = match is_negated {
            true => self.addressing.local(),
            false => self.addressing.router(),
        };
        is_local.then(|| vec![(Field::Destination, addresses.clone())])
    }

    /// Returns the number of an interface; `None` for groups, VRFs and interfaces that exist only at run time.
    fn interface(&self, name: &str) -> Option<Ranges> {
        let number = self.interfaces_that(|own| own == name);
        (!number.is_empty()).then_some(number)
    }

    /// Returns the field values of a matcher; alternatives for `port`. `None` if it cannot be decided.
    fn fields(&self, property: &str, value: &Value) -> Option<Vec<(Field, Ranges)>> {
        let text = value.to_string();
        let one = |field, ranges| Some(vec![(field, ranges)]);
        match property {
            "in-interface" => one(Field::Ingress, self.interface(&text)?),
            "out-interface" => one(Field::Egress, self.interface(&text)?),
            "in-interface-list" => one(
                Field::Ingress,
                self.interfaces_that(|name| self.config.is_in(name, &text)),
            ),
            "out-interface-list" => one(
                Field::Egress,
                self.interfaces_that(|name| self.config.is_in(name, &text)),
            ),
            "src-address" => one(Field::Source, Ranges::new([self.addresses(&text)?])),
            "dst-address" => one(Field::Destination, Ranges::new([self.addresses(&text)?])),
            "src-address-list" => one(Field::Source, self.list(&text)?),
            "dst-address-list" => one(Field::Destination, self.list(&text)?),
            "dst-address-type" if text == "local" && self.addressing.is_local_complete() => {
                one(Field::Destination, self.addressing.local().clone())
            }
            "protocol" => one(
                Field::Protocol,
                Ranges::single(u128::from((self.protocols)(value)?)),
            ),
            "src-port" => one(Field::SourcePort, ports(&text)?),
            "dst-port" => one(Field::DestinationPort, ports(&text)?),
            "port" => Some(vec![
                (Field::SourcePort, ports(&text)?),
                (Field::DestinationPort, ports(&text)?),
            ]),
            "connection-state" => one(Field::State, states(&text)),
            "connection-nat-state" if text == "dstnat" => one(Field::Translated, Ranges::single(1)),
            // Packets of a question are clear, and no policy is looked up where there is none.
            "ipsec-policy" => {
                let is_clear = text.ends_with("none");
                let is_sure = text.starts_with("in,") || self.config.policies().is_empty();
                let all = self.all();
                let values = match is_clear {
                    true => all.values(Field::Protocol).clone(),
                    false => Ranges::new([]),
                };
                is_sure.then_some(vec![(Field::Protocol, values)])
            }
            _ => None,
        }
    }

    /// Returns the addresses of a list. `None` for names and entries at run time: scripts and the API fill lists that
    /// have no static entries.
    fn list(&self, name: &str) -> Option<Ranges> {
        self.lists.get(name)?.clone()
    }
}

impl Matched {
    /// Limits all classes by a matcher with alternatives: packets fulfil any alternative, and with a negated matcher
    /// every alternative.
    fn limit(&mut self, alternatives: Vec<(Field, Ranges)>, is_negated: bool) {
        let classes = std::mem::take(&mut self.classes);
        if is_negated {
            let limited = classes.into_iter().map(|class| {
                let limits = alternatives.iter();
                limits.fold(class, |class, (field, values)| {
                    class.limited(*field, values)
                })
            });
            self.classes = limited.collect();
            return;
        }
        let limited = classes.iter().flat_map(|class| {
            let alternatives = alternatives.iter();
            alternatives.map(|(field, values)| class.clone().limited(*field, values))
        });
        self.classes = limited.collect();
    }
}

/// Returns the menu of a table of an address family.
pub(crate) const fn menu_of(is_ipv6: bool, table: &str) -> &'static str {
    match (table.as_bytes(), is_ipv6) {
        (b"filter", false) => "/ip/firewall/filter",
        (b"filter", true) => "/ipv6/firewall/filter",
        (b"nat", false) => "/ip/firewall/nat",
        (b"nat", true) => "/ipv6/firewall/nat",
        (b"raw", false) => "/ip/firewall/raw",
        (b"raw", true) => "/ipv6/firewall/raw",
        (b"mangle", false) => "/ip/firewall/mangle",
        (b"mangle", true) => "/ipv6/firewall/mangle",
        (_, false) => "/ip/firewall/address-list",
        (_, true) => "/ipv6/firewall/address-list",
    }
}

/// Returns the static entries of address lists; `None` for lists that have names or are filled at run time.
fn address_lists<'a>(config: &Config<'a>, is_ipv6: bool) -> BTreeMap<&'a str, Option<Ranges>> {
    let mut lists: BTreeMap<&str, Option<Vec<(u128, u128)>>> = BTreeMap::new();
    for entry in config.enabled(menu_of(is_ipv6, "address-list")) {
        let ranges = lists
            .entry(entry.text("list"))
            .or_insert_with(|| Some(Vec::new()));
        let range = addresses(&shown(entry, "address"), is_ipv6);
        match (range, ranges.as_mut()) {
            (Some(range), Some(ranges)) => ranges.push(range),
            _ => *ranges = None,
        }
    }
    for table in ["filter", "mangle", "raw", "nat"] {
        for rule in config.enabled(menu_of(is_ipv6, table)) {
            if rule.text("action").starts_with("add-") {
                lists.insert(rule.text("address-list"), None);
            }
        }
    }
    for (menu, property) in FILLED {
        let items = config.enabled(menu).into_iter();
        let names = items.flat_map(|item| words(item.get(property)));
        lists.extend(names.map(|name| (name, None)));
    }
    let lists = lists.into_iter();
    lists
        .map(|(name, ranges)| (name, ranges.map(Ranges::new)))
        .collect()
}

/// Returns first and last address of an address, prefix or range of a family.
fn addresses(text: &str, is_ipv6: bool) -> Option<(u128, u128)> {
    let of = |address: IpAddr| (address.is_ipv6() == is_ipv6).then(|| number(address));
    if let Some((from, to)) = text.split_once('-') {
        return Some((of(from.parse().ok()?)?, of(to.parse().ok()?)?));
    }
    if let Ok(net) = text.parse::<IpNet>() {
        return Some((of(net.network())?, of(net.broadcast())?));
    }
    let address = of(text.parse().ok()?)?;
    Some((address, address))
}

/// Returns a list of ports and ranges.
pub(crate) fn ports(text: &str) -> Option<Ranges> {
    let ranges = text.split(',').map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some((
            from.parse::<u16>().ok()?.into(),
            to.parse::<u16>().ok()?.into(),
        ))
    });
    Some(Ranges::new(ranges.collect::<Option<Vec<_>>>()?))
}

fn states(text: &str) -> Ranges {
    let numbers = text
        .split(',')
        .filter_map(|word| STATES.iter().position(|state| *state == word));
    Ranges::new(numbers.map(|number| (number as u128, number as u128)))
}
