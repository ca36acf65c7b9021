//! After random commands in all menus, a restart and an import of an export give the acknowledged
//! configuration. Each run uses the same sequences of commands; `PROPTEST_CASES` sets another number of random
//! ones.

use ipnet::IpNet;
use machine::Rng;
use menu::{Absent, Family, Item, Kind, Menu, MenuShape, Offline, Property, Store};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use script::Session;

/// As many sequences as fit into a few seconds, always the same; or as many random ones as the environment
/// sets.
fn runner() -> TestRunner {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|text| text.parse().ok());
    let config = ProptestConfig {
        cases: asked.unwrap_or(96),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    match asked {
        Some(_) => TestRunner::new(config),
        None => {
            let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            TestRunner::new_with_rng(config, rng)
        }
    }
}

#[test]
fn acknowledged_changes_survive_a_restart_and_their_export_imports() {
    let mut runner = runner();

    let result = runner.run(&prop::collection::vec(any::<u64>(), 1..60), |seeds| {
        let mut store = with_ports();
        let mut done = Vec::new();
        for seed in seeds {
            let command = Maker::new(&store, seed).command();
            let revision = store.revision();
            let _ = script::run(
                &mut store,
                &mut Offline,
                &mut Session::new("admin"),
                &command,
                &mut String::new(),
            );
            if store.revision() != revision {
                done.push(command);
            }
        }
        let done = done.join("\n");
        starts_again(&store, &done)?;
        imports(&store, &done)
    });

    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

#[test]
fn an_excluded_routing_mark_creates_no_table() {
    let (store, results) =
        after(&["/ip firewall mangle add chain=forward action=accept routing-mark=!main"]);

    assert_eq!(results, [Ok(())]);
    imports(&store, "").expect("it comes to the same");
}

/// A store after these console commands, and the result of each.
fn after(commands: &[&str]) -> (Store, Vec<Result<(), String>>) {
    let mut store = with_ports();
    let results = commands.iter().map(|command| {
        let mut session = Session::new("admin");
        let mut out = String::new();
        let run = script::run(&mut store, &mut Offline, &mut session, command, &mut out);
        run.map_err(|refusal| refusal.to_string())
    });
    let results = results.collect();
    (store, results)
}

#[test]
fn a_view_sets_the_properties_of_the_interface() {
    let (store, results) = after(&[
        "/interface vlan add name=v interface=ether1 vlan-id=5",
        "/interface set v mtu=auto",
        "/interface set v mtu=1400",
    ]);

    assert!(results[1].is_err(), "{results:?}");
    assert_eq!(results[2], Ok(()));
    starts_again(&store, "").expect("it starts again");
    imports(&store, "").expect("it is made again");
}

#[test]
fn a_reference_to_a_removed_item_is_not_reused_after_a_restart() {
    let (store, results) = after(&[
        "/interface vlan add name=v interface=ether1 vlan-id=5",
        "/ip vrf add name=red interfaces=v",
        "/interface vlan remove v",
    ]);

    assert!(results.iter().all(Result::is_ok), "{results:?}");
    starts_again(&store, "").expect("it starts again");
    imports(&store, "").expect("it is made again");
}

#[test]
fn a_route_of_a_removed_table_can_be_added_again() {
    let (store, results) = after(&[
        "/routing table add name=t fib",
        "/ip route add dst-address=10.1.0.0/16 gateway=10.0.0.1 routing-table=t",
        "/routing table remove [ find name=t ]",
    ]);

    assert!(results.iter().all(Result::is_ok), "{results:?}");
    starts_again(&store, "").expect("it starts again");
    imports(&store, "").expect("it is made again");
}

#[test]
fn an_export_orders_items_before_their_references() {
    let (store, results) = after(&[
        "/interface wireguard add name=wg",
        "/interface vlan add name=v interface=wg vlan-id=5",
        "/interface bridge add name=b",
        "/interface vlan add name=a interface=b vlan-id=5",
        "/interface vrrp add name=r interface=a",
        "/interface macvlan add name=m interface=a",
        "/interface vlan add name=y interface=r vlan-id=6",
        "/interface vlan add name=z interface=m vlan-id=6",
        "/ip vrf add name=red interfaces=z",
    ]);

    assert!(results.iter().all(Result::is_ok), "{results:?}");
    imports(&store, "").expect("it is made again");
}

/// A store with some ports.
fn with_ports() -> Store {
    let mut store = schema::store();
    let text: String = (1..5)
        .map(|n| format!("/interface ethernet set [ find default-name=ether{n} ] disabled=no\n"))
        .collect();
    import(&mut store, &text).expect("ports are made for a file");
    store
}

fn import(store: &mut Store, text: &str) -> Result<(), String> {
    let mut session = Session::new("admin");
    let mut out = String::new();
    let imported = script::import(store, &mut Offline, &mut session, text, &mut out);
    imported.map_err(|refusal| format!("{refusal} at {:?}", refusal.at))
}

fn starts_again(store: &Store, done: &str) -> Result<(), TestCaseError> {
    let saved = store.save();
    let mut started = schema::store();
    let lost = started.load(&saved);

    prop_assert_eq!(lost, Vec::<String>::new(), "{}", done);
    prop_assert!(started.save() == saved, "{}", done);
    let (before, after) = (values(store, |_| true), values(&started, |_| true));
    prop_assert_eq!(after, before, "{}", done);
    prop_assert_eq!(export(&started), export(store), "{}", done);
    Ok(())
}

fn imports(store: &Store, done: &str) -> Result<(), TestCaseError> {
    let exported = export(store);
    let mut copy = with_ports();
    let imported = import(&mut copy, &exported);

    prop_assert_eq!(imported, Ok(()), "{}\n\n{}", done, exported);
    prop_assert_eq!(export(&copy), exported, "{}", done);
    // Temporary items are not exported.
    let stays = |item: &Item| item.menu.passing.is_none_or(|passing| !passing(item));
    prop_assert_eq!(values(&copy, stays), values(store, stays), "{}", done);
    Ok(())
}

fn export(store: &Store) -> String {
    let mut out = String::new();
    let options = menu::export::Options {
        sensitive: true,
        ..menu::export::Options::default()
    };
    let _ = menu::export::export(store, &options, &mut out);
    out
}

/// The values of all items that an export may contain, in their order if the order has a meaning.
fn values(store: &Store, wanted: impl Fn(&Item) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    for menu in store.menus() {
        let items = store.items(menu.path).filter(|item| wanted(item));
        let mut lines: Vec<_> = items.map(|item| line(item)).collect();
        if menu.shape != MenuShape::Ordered {
            lines.sort();
        }
        all.extend(lines);
    }
    all
}

fn line(item: &Item) -> String {
    let told = |property: &Property| !property.read_only && !property.sealed;
    let values = item.values().filter(|(property, _)| told(property));
    let values: Vec<_> = values.map(|(p, v)| format!("{}={v:?}", p.name)).collect();
    format!("{} {}", item.menu.path, values.join(" "))
}

/// Generates commands that a store is likely to accept.
struct Maker<'a> {
    store: &'a Store,
    rng: Rng,
}

impl<'a> Maker<'a> {
    fn new(store: &'a Store, seed: u64) -> Self {
        let rng = Rng::seeded(seed);
        Self { store, rng }
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.rng.next_u64() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let place = self.below(list.len());
        list.get(place).copied()
    }

    fn command(&mut self) -> String {
        let menus = self.store.menus().iter().copied();
        let changes = |menu: &&Menu| menu.is_configuration() || menu.shape == MenuShape::View;
        // Items that others refer to are added and removed more often than the rest.
        let named = self.one_in(2);
        let fits = |menu: &&Menu| changes(menu) && (!named || menu.space.is_some());
        let menus: Vec<_> = menus.filter(fits).collect();
        let Some(menu) = self.pick(&menus) else {
            return String::new();
        };
        let ids: Vec<_> = match menu.space {
            Some(space) if menu.shape == MenuShape::View => self.store.members(space).collect(),
            _ => self.store.items(menu.path).collect(),
        };
        let ids: Vec<_> = ids.into_iter().map(|item| item.id).collect();
        let id = self.pick(&ids);
        let (path, arguments) = (menu.export_path(), self.arguments(menu));
        match (menu.shape, id, self.below(9)) {
            (MenuShape::Settings, ..) => format!("{path} set{arguments}"),
            (_, Some(id), 0) => format!("{path} remove {id}"),
            (_, Some(id), 1) => format!("{path} disable {id}"),
            (_, Some(id), 2) => format!("{path} move {id} destination=0"),
            (_, Some(id), 3) => {
                let names: Vec<_> = menu.properties().map(|property| property.name).collect();
                let name = self.pick(&names).unwrap_or_default();
                format!("{path} unset {id} value-name={name}")
            }
            (_, Some(id), 4 | 5) => format!("{path} set {id}{arguments}"),
            (_, Some(id), 6) if menu.grows() => format!("{path} add copy-from={id}{arguments}"),
            (_, Some(id), _) if !menu.grows() => format!("{path} set {id}{arguments}"),
            _ => format!("{path} add{arguments}"),
        }
    }

    /// The required properties and a few others.
    fn arguments(&mut self, menu: &Menu) -> String {
        let settable: Vec<_> = menu.properties().filter(|p| !p.read_only).collect();
        let mut chosen: Vec<_> = settable.iter().filter(|p| p.required).copied().collect();
        for _ in 0..self.below(4) {
            let more = self.pick(&settable);
            chosen.extend(more.filter(|more| chosen.iter().all(|p| p.name != more.name)));
        }
        let mut text = String::new();
        for property in chosen {
            text += &match (property.kind, property.unset && self.one_in(6)) {
                (_, true) => format!(" !{}", property.name),
                (Kind::Presence, _) => format!(" {}", property.name),
                (kind, _) => {
                    let value = menu::quote_always(&self.value(&kind));
                    format!(" {}={value}", property.name)
                }
            };
        }
        text
    }

    fn value(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Bool => self.word(&["yes", "no"]),
            Kind::Presence => String::from("yes"),
            Kind::Number { min, max } => self.number(*min, *max).to_string(),
            Kind::Hex { max } => {
                let max = i64::try_from(*max).unwrap_or(i64::MAX);
                format!("0x{:x}", self.number(0, max))
            }
            Kind::Time { min, max } => menu::time::units(self.span(*min, *max)),
            Kind::Times { min, max } => {
                let (one, other) = (self.span(*min, *max), self.span(*min, *max));
                let (first, last) = (one.min(other), one.max(other));
                format!("{}-{}", menu::time::units(first), menu::time::units(last))
            }
            Kind::Text | Kind::Sized { .. } | Kind::Name => self.text(),
            Kind::Spelled(_) => self.word(SPELLED),
            Kind::Words(words) => self.word(words),
            Kind::Or(words, kind) => match self.one_in(2) {
                true => self.word(words),
                false => self.value(kind),
            },
            Kind::List(kind) => {
                let count = self.below(4);
                let values: Vec<_> = (0..count).map(|_| self.value(kind)).collect();
                values.join(",")
            }
            Kind::Marked(words) => self.words(words, true),
            Kind::Set(words) => self.words(words, false),
            Kind::Reference(space) => self.reference(space),
            Kind::Either(first, second) => match self.one_in(2) {
                true => self.value(first),
                false => self.value(second),
            },
            Kind::Pair(kind) => self.twice("/", kind),
            Kind::Range(between, kind) => self.twice(between, kind),
            Kind::Tuple(between, kinds) => {
                let values: Vec<_> = kinds.iter().map(|kind| self.value(kind)).collect();
                values.join(between)
            }
            Kind::Not(kind) => match self.one_in(3) {
                true => format!("!{}", self.value(kind)),
                false => self.value(kind),
            },
            Kind::Parts(parts) => {
                let mut text = String::new();
                for part in *parts {
                    if matches!(part.absent, Absent::Refused) || self.one_in(2) {
                        text += part.before;
                        text += &self.value(&part.kind);
                    }
                }
                text
            }
            kind => self.network_value(kind),
        }
    }

    fn network_value(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Address(family) => self.address(*family),
            Kind::Prefix(family) | Kind::Local(family) => self.prefix(*family),
            Kind::Addresses(family) => match self.below(3) {
                0 => self.address(*family),
                1 => self.prefix(*family),
                _ => format!("10.0.0.{}-10.0.1.{}", self.below(256), self.below(256)),
            },
            Kind::Mac => format!(
                "02:00:00:00:{:02X}:{:02X}",
                self.below(256),
                self.below(256)
            ),
            Kind::Rate => self.word(&["0", "512k", "10M", "1G", "64001"]),
            Kind::Kib => self.word(&["0", "50KiB", "1000", "7KiB"]),
            Kind::Thousandths => self.word(&["0", "0.1", "12.125", "7"]),
            Kind::Host => self.word(&["host.example", "10.0.0.1", "a", "fe80::1"]),
            Kind::Digits => self.word(&["", "00", "00ff", "0123456789abcdef"]),
            Kind::Gateway(family) => {
                let port = self.reference("interface");
                match self.below(4) {
                    0 => self.address(*family),
                    1 => port,
                    2 => format!("{}%{port}", self.address(*family)),
                    _ => {
                        let table = self.reference("routing-table");
                        format!("{}@{table}", self.address(*family))
                    }
                }
            }
            _ => String::new(),
        }
    }

    fn word(&mut self, words: &[&str]) -> String {
        self.pick(words).unwrap_or_default().to_owned()
    }

    fn words(&mut self, words: &[&str], marked: bool) -> String {
        let count = self.below(4);
        let chosen: Vec<_> = (0..count)
            .map(|_| match marked && self.one_in(2) {
                true => format!("!{}", self.word(words)),
                false => self.word(words),
            })
            .collect();
        chosen.join(",")
    }

    fn twice(&mut self, between: &str, kind: &Kind) -> String {
        let first = self.value(kind);
        match self.one_in(2) {
            true => first,
            false => format!("{first}{between}{}", self.value(kind)),
        }
    }

    fn number(&mut self, min: i64, max: i64) -> i64 {
        let width = usize::try_from(max.saturating_sub(min)).unwrap_or(usize::MAX);
        match self.below(4) {
            0 => min,
            1 => max,
            2 => min + self.below(width.min(100)) as i64,
            _ => min + self.below(width) as i64,
        }
    }

    fn span(&mut self, min: i64, max: i64) -> i64 {
        match self.below(3) {
            0 => min,
            1 => max.min(3_600_000_000_000),
            _ => (self.below(100_000) as i64 * 1_000_000_000).clamp(min, max),
        }
    }

    fn text(&mut self) -> String {
        let count = self.below(12);
        let plain = self.one_in(2);
        let letters = (0..count).map(|_| match plain {
            true => char::from(b'a' + self.below(26) as u8),
            false => self.pick(LETTERS).unwrap_or('x'),
        });
        letters.collect()
    }

    fn reference(&mut self, space: &str) -> String {
        let names: Vec<_> = self.store.names(space).collect();
        self.pick(&names).unwrap_or("none").to_owned()
    }

    fn address(&mut self, family: Family) -> String {
        match family == Family::V6 || family == Family::Any && self.one_in(2) {
            true => format!("fd00::{:x}", self.below(0x1_0000)),
            false => format!("10.{}.0.{}", self.below(256), self.below(256)),
        }
    }

    fn prefix(&mut self, family: Family) -> String {
        let address = self.address(family);
        let length = self.below(33);
        let net: Option<IpNet> = format!("{address}/{length}").parse().ok();
        net.map_or(address, |net| net.to_string())
    }
}

/// Characters with a special meaning in the console, in a file or in a list.
const LETTERS: &[char] = &[
    'a', 'B', '7', ' ', '"', '\\', '$', '?', '*', ',', ';', '=', '!', '%', '@', '/', '-', '_', '#',
    '\n', '\t', '\u{e4}', '.', ':', '[', '}', '~', '\u{1}',
];

/// Texts in the small formats of properties.
const SPELLED: &[&str] = &[
    "2026-11-22",
    "03:30:00",
    "+01:00",
    "10.0.0.1",
    "10.0.0.1:53",
    "1-10,20",
    "65001",
    "65000:1",
    "startup",
    "0.0.0.1",
    "a.example",
    "00:11:22:33:44:55",
    "1.2.3.4-1.2.3.9",
    "nov/22/2026",
    "100M",
    "auto",
    "none",
    "",
];
#[test]
fn items_in_lists_refuse_names_with_separators() {
    let mut store = with_ports();
    let mut run = |line: &str| {
        let mut session = Session::new("admin");
        script::run(
            &mut store,
            &mut Offline,
            &mut session,
            line,
            &mut String::new(),
        )
    };
    let relay = "/ipv6 dhcp-relay add interface=ether4 dhcp-server=fd00::1 dhcp-options=client_mac";
    assert_eq!(run(relay), Ok(()));

    let refused =
        run("/ipv6 dhcp-relay option set client_mac name=\"a;b\"").expect_err("of a list");
    assert!(
        refused.to_string().contains("client_mac is in a list"),
        "{refused}"
    );
    assert_eq!(
        run("/ipv6 dhcp-relay option set client_mac name=\"a b\""),
        Ok(())
    );
    assert_eq!(run("/ipv6 dhcp-relay remove relay1"), Ok(()));
    assert_eq!(
        run("/ipv6 dhcp-relay option set \"a b\" name=\"a;b\""),
        Ok(())
    );
}
