//! Reads the intent from the store: the only code of the core menus that knows property names.
//!
//! The store has checked types and ranges already. An item that still makes no sense is left out, like a disabled item.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use dataplane::routing_rules::RuleAction;
use dataplane::snapshot::{MultipathHash, Prefix, RpFilter};
use ipnet::IpNet;
use machine::Duration;
use menu::{Change, Changes, Item, Store, Value};
use service::neighbour::Mode;
use wire::Mac;

use crate::intent::{
    AdvertiseDns, AnyNet, Class, Gateway, Intent, Interface, InterfaceList, ItemId, ItemState,
    Lifetime, Member, Name, Nd, NdPrefix, NdUsual, Neighbour, Refuse, Route, Rule, Settings4,
    Settings6, Table,
};
use crate::kind::{self, AnyKind};
use crate::recompute_set::{RecomputeSet, swap};
use crate::rib::{Check, Family, Net, V4, V6};

/// Reads all effective configuration, except for menus that features read.
pub fn intent(store: &Store) -> Intent {
    let mut intent = Intent {
        interfaces: store
            .members("interface")
            .filter_map(|item| Some((item.id.0, kind::read_item(item)?)))
            .collect(),
        lists: store
            .items("/interface/list")
            .filter_map(|item| Some((Arc::from(item.name()?), list(item))))
            .collect(),
        members: items(store, "/interface/list/member", member),
        neighbours4: items(store, "/ip/arp", neighbour::<V4>),
        neighbours6: items(store, "/ipv6/neighbor", neighbour::<V6>),
        routes4: items(store, ROUTES4, route::<V4>),
        routes6: items(store, ROUTES6, route::<V6>),
        tables: items(store, "/routing/table", table),
        nd: items(store, "/ipv6/nd", nd),
        nd_prefixes: items(store, "/ipv6/nd/prefix", nd_prefix),
        ..Intent::default()
    };
    read_settings(store, &mut intent, &mut RecomputeSet::default());
    read_rules(store, &mut intent);
    intent
}

/// The menu of IPv4 routes.
pub const ROUTES4: &str = "/ip/route";
/// The menu of IPv6 routes.
pub const ROUTES6: &str = "/ipv6/route";

/// Reads the changes of a transaction, except for routes, and marks in the result what to recompute. The cost depends
/// on the changes; only the few settings and the routing rules, whose order matters, are read completely.
pub(crate) fn follow(store: &Store, changes: &Changes, intent: &mut Intent) -> RecomputeSet {
    let mut touched = RecomputeSet::default();
    for change in &changes.list {
        read_change(change, intent, &mut touched);
    }
    if touched.rules {
        read_rules(store, intent);
    }
    if changes
        .list
        .iter()
        .any(|change| SETTINGS.contains(&change.menu.path))
    {
        read_settings(store, intent, &mut touched);
    }
    if touched.of_all {
        touched.everything(intent);
    }
    touched
}

fn read_change(change: &Change, intent: &mut Intent, touched: &mut RecomputeSet) {
    let after = change.after.as_deref();
    let id = change.id.0;
    match change.menu.path {
        "/interface/list" => {
            let name = |item: Option<&Item>| item.and_then(Item::name).map(Name::from);
            if let Some(before) = name(change.before.as_deref()) {
                intent.lists.remove(&before);
                touched.lists.insert(before);
            }
            if let (Some(name), Some(item)) = (name(after), after) {
                intent.lists.insert(name.clone(), list(item));
                touched.lists.insert(name);
            }
        }
        "/interface/list/member" => {
            intent.put(id, ItemState::Member(after.and_then(member)), touched);
        }
        "/ip/arp" => {
            intent.put(
                id,
                ItemState::Neighbour4(after.and_then(neighbour)),
                touched,
            );
        }
        "/ipv6/neighbor" => {
            intent.put(
                id,
                ItemState::Neighbour6(after.and_then(neighbour)),
                touched,
            );
        }
        "/ipv6/nd" => {
            let own = after.and_then(nd);
            let is_of_all = own.as_ref().is_some_and(|nd| nd.interface.is_none());
            let before = intent.nd.set(id, own);
            let was_of_all = before.as_ref().is_some_and(|nd| nd.interface.is_none());
            // Interfaces without an item of their own use the default item.
            touched.of_all |= is_of_all || was_of_all;
            let now = intent.nd.get(&id).and_then(|nd| nd.interface.clone());
            let before = before.and_then(|nd| nd.interface);
            touched.advertised.extend(before.into_iter().chain(now));
        }
        "/ipv6/nd/prefix" => {
            let after = after.and_then(nd_prefix);
            swap(&mut intent.nd_prefixes, id, after, &mut touched.advertised);
        }
        "/routing/table" => {
            match after.and_then(table) {
                Some(table) => _ = intent.tables.insert(id, table),
                None => _ = intent.tables.remove(&id),
            }
            touched.tables = true;
        }
        "/routing/rule" => touched.rules = true,
        _ if change.menu.space == Some("interface") => {
            intent.interfaces.set(id, after.and_then(kind::read_item));
            touched.interfaces.insert(id);
        }
        _ => {}
    }
}

/// Menus that [`read_settings`] reads.
const SETTINGS: [&str; 5] = [
    "/system/identity",
    "/ipv6/nd/prefix/default",
    "/ip/dns",
    "/ip/settings",
    "/ipv6/settings",
];

/// Reads the settings. Marks in `touched` whether a setting changed, and whether each interface uses that setting.
fn read_settings(store: &Store, intent: &mut Intent, touched: &mut RecomputeSet) {
    let identity = |item: &Item| item.text("name").to_owned();
    intent.identity = settings(store, "/system/identity", identity);
    let nd_usual = settings(store, "/ipv6/nd/prefix/default", nd_usual);
    let dns6 = settings(store, "/ip/dns", |item| list6(item, "servers"));
    let ipv4 = settings(store, "/ip/settings", settings4);
    let ipv6 = settings(store, "/ipv6/settings", settings6);
    touched.settings |= (&intent.ipv4, &intent.ipv6) != (&ipv4, &ipv6);
    touched.of_all |= (&intent.nd_usual, &intent.dns6) != (&nd_usual, &dns6)
        || intent.ipv4.of_interfaces() != ipv4.of_interfaces()
        || intent.ipv6.of_interfaces() != ipv6.of_interfaces();
    (intent.nd_usual, intent.dns6) = (nd_usual, dns6);
    (intent.ipv4, intent.ipv6) = (ipv4, ipv6);
}

fn read_rules(store: &Store, intent: &mut Intent) {
    let rules = store.items("/routing/rule");
    intent.rules = rules.filter_map(|item| rule(item)).collect();
}

fn items<T, C: FromIterator<(ItemId, T)>>(
    store: &Store,
    path: &str,
    read: impl Fn(&Item) -> Option<T>,
) -> C {
    store
        .items(path)
        .filter_map(|item| Some((item.id.0, read(item)?)))
        .collect()
}

fn settings<T: Default>(store: &Store, path: &str, read: impl FnOnce(&Item) -> T) -> T {
    store
        .settings(path)
        .map(|item| read(item))
        .unwrap_or_default()
}

/// Reads a list of ranges of VLAN ids. An id alone is a range of one.
pub(crate) fn vlan_ranges(item: &Item, property: &str) -> Vec<(u16, u16)> {
    let ranges = item.get(property).map(Value::as_list).unwrap_or_default();
    let vid = |value: &Value| { value.as_number() }.and_then(|vid| u16::try_from(vid).ok());
    let range = |value: &Value| match value {
        Value::Tuple(_, ends) => Some((vid(ends.first()?)?, vid(ends.last()?)?)),
        one => vid(one).map(|one| (one, one)),
    };
    ranges.iter().filter_map(range).collect()
}

/// Reads the properties that all interfaces have.
pub(crate) fn interface_of(
    item: &Item,
    kind: impl Into<AnyKind>,
    class: Class,
) -> Option<Interface> {
    Some(Interface {
        name: Arc::from(item.name()?),
        disabled: item.is("disabled"),
        mtu: item
            .number("mtu")
            .and_then(|mtu| u32::try_from(mtu).ok())
            .unwrap_or(1500),
        arp: mode(item.text("arp")),
        arp_timeout: span(item, "arp-timeout"),
        kind: kind.into(),
        class,
    })
}

/// Converts a network for workers.
pub(crate) fn prefix(net: IpNet) -> Prefix {
    Prefix {
        ipv6: matches!(net, IpNet::V6(_)),
        bits: match net.network() {
            IpAddr::V4(address) => address.to_bits().into(),
            IpAddr::V6(address) => address.to_bits(),
        },
        len: net.prefix_len(),
    }
}

pub(crate) fn list(item: &Item) -> InterfaceList {
    let names = |property: &str| {
        let names = item.get(property).map(Value::as_list).unwrap_or_default();
        names
            .iter()
            .filter_map(Value::as_str)
            .map(Arc::from)
            .collect()
    };
    InterfaceList {
        include: names("include"),
        exclude: names("exclude"),
    }
}

pub(crate) fn member(item: &Item) -> Option<Member> {
    Some(Member {
        list: name(item, "list")?,
        interface: name(item, "interface")?,
        disabled: item.is("disabled"),
    })
}

fn mode(word: &str) -> Mode {
    match word {
        "disabled" => Mode::Disabled,
        "proxy-arp" => Mode::ProxyArp,
        "local-proxy-arp" => Mode::LocalProxyArp,
        "reply-only" => Mode::ReplyOnly,
        _ => Mode::Enabled,
    }
}

fn neighbour<F: Family>(item: &Item) -> Option<Neighbour<F>> {
    Some(Neighbour {
        addr: address::<F>(item.get("address")?.as_address()?)?,
        interface: name(item, "interface")?,
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        published: item.is("published"),
        disabled: item.is("disabled"),
    })
}

/// Reads a configured route; `None` if it is of the other family.
pub fn route<F: Family>(item: &Item) -> Option<Route<F>> {
    let AnyParts { bits, len, ipv6 } = parts(item.get("dst-address")?.as_prefix()?);
    if ipv6 != F::IPV6 {
        return None;
    }
    let byte = |name: &str, usual: u8| {
        item.number(name)
            .and_then(|number| u8::try_from(number).ok())
            .unwrap_or(usual)
    };
    let gateways = item.get("gateway").map(Value::as_list).unwrap_or_default();
    Some(Route {
        net: Net::new(F::addr(bits), len),
        table: name(item, "routing-table").unwrap_or_else(|| Arc::from("main")),
        gateways: gateways.iter().filter_map(gateway::<F>).collect(),
        refuse: refuse(item),
        check: match item.text("check-gateway") {
            "ping" => Check::Ping,
            "arp" => Check::Arp,
            "bfd" | "bfd-multihop" => Check::Bfd,
            _ => Check::None,
        },
        distance: byte("distance", 1),
        scope: byte("scope", 30),
        target_scope: byte("target-scope", 10),
        pref_src: item
            .get("pref-src")
            .and_then(Value::as_address)
            .and_then(address::<F>),
        disabled: item.is("disabled"),
    })
}

fn refuse(item: &Item) -> Option<Refuse> {
    if item.is("blackhole") {
        return Some(Refuse::Blackhole);
    }
    match item.text("type") {
        "unreachable" => Some(Refuse::Unreachable),
        "prohibit" => Some(Refuse::Prohibit),
        _ => None,
    }
}

fn gateway<F: Family>(value: &Value) -> Option<Gateway<F>> {
    let Value::Gateway(gateway) = value else {
        return None;
    };
    let addr = match gateway.address {
        None => None,
        Some(addr) => Some(address::<F>(addr)?),
    };
    Some(Gateway {
        addr,
        interface: gateway.interface.as_deref().map(Arc::from),
        table: gateway.table.as_deref().map(Arc::from),
    })
}

fn table(item: &Item) -> Option<Table> {
    let name: Name = Arc::from(item.name()?);
    (&*name != "main").then(|| Table {
        name,
        fib: item.is("fib"),
        disabled: item.is("disabled"),
    })
}

fn rule(item: &Item) -> Option<Rule> {
    let net = |name: &str| {
        let AnyParts { bits, len, ipv6 } = parts(item.get(name)?.as_prefix()?);
        Some(match ipv6 {
            false => AnyNet::V4(Net::new(V4::addr(bits), len)),
            true => AnyNet::V6(Net::new(V6::addr(bits), len)),
        })
    };
    Some(Rule {
        item: item.id.0,
        source: net("src-address"),
        destination: net("dst-address"),
        interface: name(item, "interface"),
        mark: name(item, "routing-mark"),
        min_prefix: item
            .number("min-prefix")
            .and_then(|len| u8::try_from(len).ok()),
        action: match item.text("action") {
            "lookup-only-in-table" => RuleAction::LookupOnly,
            "drop" => RuleAction::Drop,
            "unreachable" => RuleAction::Unreachable,
            _ => RuleAction::Lookup,
        },
        table: name(item, "table"),
        disabled: item.is("disabled"),
    })
}

fn nd(item: &Item) -> Option<Nd> {
    let interval = match item.get("ra-interval") {
        Some(Value::Times(shortest, longest)) => (nanos(*shortest), nanos(*longest)),
        Some(Value::Time(both)) => (nanos(*both), nanos(*both)),
        _ => (Duration::from_secs(200), Duration::from_secs(600)),
    };
    Some(Nd {
        interface: name(item, "interface").filter(|name| &**name != "all"),
        interval,
        delay: span(item, "ra-delay").unwrap_or(Duration::from_secs(3)),
        mtu: item.number("mtu").and_then(|mtu| u32::try_from(mtu).ok()),
        reachable_time: span(item, "reachable-time"),
        retransmit: span(item, "retransmit-interval"),
        // `none` means a lifetime of zero: not a default router.
        lifetime: span(item, "ra-lifetime").unwrap_or(Duration::ZERO),
        preference: match item.text("ra-preference") {
            "high" => 1,
            "low" => -1,
            _ => 0,
        },
        hop_limit: item
            .number("hop-limit")
            .and_then(|limit| u8::try_from(limit).ok()),
        advertise_mac: item.is("advertise-mac-address"),
        advertise_dns: match item.get("advertise-dns") {
            Some(Value::Bool(true)) => AdvertiseDns::Servers,
            Some(Value::Word("self")) => AdvertiseDns::Router,
            _ => AdvertiseDns::No,
        },
        managed: item.is("managed-address-configuration"),
        other: item.is("other-configuration"),
        dns: list6(item, "dns"),
        pref64: item
            .get("pref64")
            .map(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(network6)
            .collect(),
        disabled: item.is("disabled"),
    })
}

fn nd_prefix(item: &Item) -> Option<NdPrefix> {
    let lifetime = |property| item.get(property).and_then(lifetime);
    // `none` needs a 6to4 interface, which this router does not derive prefixes from; the default, `::/64`, is no
    // usable network.
    let network = item.get("prefix").and_then(network6);
    Some(NdPrefix {
        network: network.filter(|(network, _)| !network.is_unspecified())?,
        interface: name(item, "interface")?,
        on_link: item.is("on-link"),
        autonomous: item.is("autonomous"),
        lifetimes: (lifetime("valid-lifetime"), lifetime("preferred-lifetime")),
        disabled: item.is("disabled"),
    })
}

fn nd_usual(item: &Item) -> NdUsual {
    let usual = NdUsual::default();
    let lifetime = |property, usual| item.get(property).and_then(lifetime).unwrap_or(usual);
    NdUsual {
        autonomous: item.is("autonomous"),
        lifetimes: (
            lifetime("valid-lifetime", usual.lifetimes.0),
            lifetime("preferred-lifetime", usual.lifetimes.1),
        ),
    }
}

/// Parses a duration or `infinity`, in whole seconds.
fn lifetime(value: &Value) -> Option<Lifetime> {
    match value.as_nanos() {
        Some(span) => {
            let seconds = u32::try_from(nanos(span).as_secs()).ok();
            // All ones mean for ever (RFC 4861, 4.6.2).
            Some(seconds.map_or(Lifetime::Infinite, Lifetime::Seconds))
        }
        None => (value.as_str() == Some("infinity")).then_some(Lifetime::Infinite),
    }
}

/// Parses an IPv6 prefix: network and length.
fn network6(value: &Value) -> Option<(Ipv6Addr, u8)> {
    match value.as_prefix()? {
        IpNet::V6(net) => Some((net.network(), net.prefix_len())),
        IpNet::V4(_) => None,
    }
}

/// Returns the IPv6 addresses of a list property.
fn list6(item: &Item, property: &str) -> Vec<Ipv6Addr> {
    let listed = item.get(property).map(Value::as_list).unwrap_or_default();
    let addresses = listed.iter().filter_map(Value::as_address);
    addresses.filter_map(address::<V6>).collect()
}

fn settings4(item: &Item) -> Settings4 {
    let number = |name: &str, usual: u64| {
        item.number(name)
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or(usual)
    };
    Settings4 {
        forward: item.is("ip-forward"),
        send_redirects: item.is("send-redirects"),
        rp_filter: match item.text("rp-filter") {
            "strict" => RpFilter::Strict,
            "loose" => RpFilter::Loose,
            _ => RpFilter::No,
        },
        max_neighbours: number("max-neighbor-entries", 16_384) as usize,
        arp_timeout: span(item, "arp-timeout").unwrap_or(Duration::from_secs(30)),
        icmp_rate_limit: Duration::from_millis(number("icmp-rate-limit", 10)),
        icmp_rate_mask: number("icmp-rate-mask", 0x1818) as u32,
        icmp_inbound: item.is("icmp-errors-use-inbound-interface-address"),
        syn_cookies: item.is("tcp-syncookies"),
        fragment_bytes: number("ipv4-high-fragment-thresh", 4 << 20),
        fragment_time: span(item, "ipv4-fragment-time").unwrap_or(Duration::from_secs(30)),
        multipath_hash: hash(item.text("ipv4-multipath-hash-policy")),
        allow_fast_path: item.is("allow-fast-path"),
    }
}

fn settings6(item: &Item) -> Settings6 {
    let seconds = |name: &str, usual: u64| {
        let number = item
            .number(name)
            .and_then(|number| u64::try_from(number).ok());
        Duration::from_secs(number.unwrap_or(usual))
    };
    let most = item
        .number("max-neighbor-entries")
        .and_then(|most| usize::try_from(most).ok());
    Settings6 {
        disabled: item.is("disable-ipv6"),
        forward: item.is("forward"),
        no_link_local: item.is("disable-link-local-address"),
        stale_timeout: seconds("stale-neighbor-timeout", 60),
        stale_check: seconds("stale-neighbor-detect-interval", 30),
        max_neighbours: most.unwrap_or(16_384),
        multipath_hash: hash(item.text("multipath-hash-policy")),
        allow_fast_path: item.is("allow-fast-path"),
    }
}

fn hash(word: &str) -> MultipathHash {
    match word {
        "l4" => MultipathHash::L4,
        "l3-inner" => MultipathHash::L3Inner,
        _ => MultipathHash::L3,
    }
}

pub(crate) fn name(item: &Item, property: &str) -> Option<Name> {
    let text = item.text(property);
    (!text.is_empty()).then(|| Arc::from(text))
}

pub(crate) fn span(item: &Item, property: &str) -> Option<Duration> {
    item.get(property)?.as_nanos().map(nanos)
}

fn nanos(count: i64) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(0))
}

fn address<F: Family>(address: IpAddr) -> Option<F::Addr> {
    match (address, F::IPV6) {
        (IpAddr::V4(address), false) => Some(F::addr(u128::from(u32::from(address)))),
        (IpAddr::V6(address), true) => Some(F::addr(u128::from(address))),
        _ => None,
    }
}

struct AnyParts {
    bits: u128,
    len: u8,
    ipv6: bool,
}

fn parts(net: IpNet) -> AnyParts {
    match net {
        IpNet::V4(net) => AnyParts {
            bits: u128::from(u32::from(net.addr())),
            len: net.prefix_len(),
            ipv6: false,
        },
        IpNet::V6(net) => AnyParts {
            bits: u128::from(net.addr()),
            len: net.prefix_len(),
            ipv6: true,
        },
    }
}
