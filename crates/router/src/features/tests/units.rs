//! Tests of values for programs, by API and REST: numbers have no unit, except where RouterOS gives
//! the value with one.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use menu::Menu;
use script::{ExclusiveSite, Request, Rows, Session, request_at};

use crate::Instance;
use crate::drive::Setup;

/// Values with a unit in RouterOS's API: menu (with the menus below it), property, and source. Time
/// spans need no entry: RouterOS formats all of them as `1w2d3h4m5s` (its API manual).
const WITH_UNIT: &[(&str, &str, &str)] = &[
    (
        "/interface/ethernet",
        "rate",
        "the speed of a link: exporters read `1Gbps` of `monitor`",
    ),
    (
        "/interface",
        "keepalive",
        "a span and a count: `10s,10` (EoIP manual)",
    ),
    (
        "/certificate",
        "serial-number",
        "hexadecimal digits: no number with a unit",
    ),
    (
        "/ip/ipsec",
        "enc-algorithm",
        "names of algorithms: `3des` (IPsec manual)",
    ),
    (
        "/ip/traffic-flow",
        "cache-entries",
        "a word: `128k | 16k | 1k | …` (Traffic Flow manual)",
    ),
    (
        "/system/console/screen",
        "blank-interval",
        "a word: `10min` (console tree of 7.24)",
    ),
    (
        "/tool/graphing",
        "store-every",
        "a word: `5min | hour | 24hours` (Graphing manual)",
    ),
];

/// A configuration that gives rows in most menus.
const CONFIG: &str = include_str!("units.rsc");

/// Collects the fields of rows.
#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Rows for Fields {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.0.extend(fields);
        ControlFlow::Continue(())
    }
}

fn instance() -> Instance {
    let mut store = schema::store();
    for port in ["ether1", "ether2", "ether3"] {
        store.ensure_port(port, None).expect("a port");
    }
    let (mut instance, _workers) =
        Instance::new(&Setup::offline(menu::Clock::utc(0)), store).expect("memory");
    let mut out = String::new();
    let ran = instance.run(&mut Session::new("admin"), CONFIG, &mut out);
    ran.unwrap_or_else(|refusal| panic!("{refusal}"));
    instance
}

/// Returns the fields that a command gives a program; empty if it is refused.
fn told(instance: &mut Instance, path: String, arguments: &[(&str, &str)]) -> Fields {
    let arguments = arguments.iter();
    let arguments = arguments.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let request = Request {
        path,
        arguments: arguments.collect(),
        query: Vec::new(),
    };
    let mut fields = Fields::default();
    instance.lend(&mut |store, live| {
        let mut session = Session::new("admin");
        let _ = request_at(
            &mut ExclusiveSite::new(store, live),
            &mut session,
            &request,
            &mut fields,
        );
    });
    fields
}

/// Returns the unit behind a number in a value, or `None` if no part of the value has a unit.
fn unit(value: &str) -> Option<&str> {
    value.split(['/', ',']).find_map(|part| {
        let number = part.strip_prefix('-').unwrap_or(part);
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = rest.strip_prefix(' ').unwrap_or(rest);
        let is_unit = |c: char| c.is_ascii_alphabetic() || c == '%';
        let has_number = number.starts_with(|c: char| c.is_ascii_digit());
        (has_number && !unit.is_empty() && unit.chars().all(is_unit)).then_some(unit)
    })
}

/// Whether a value is a time span in units that clients parse.
fn is_span(value: &str) -> bool {
    value.split(['/', ',']).all(|part| {
        let is_span =
            menu::time::parse(part).is_some() && part.ends_with(|c: char| c.is_ascii_alphabetic());
        is_span && !part.ends_with("ns")
    })
}

fn has_line(path: &str, name: &str) -> bool {
    WITH_UNIT.iter().any(|(above, property, _)| {
        let below = path.strip_prefix(above);
        let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_below && *property == name
    })
}

/// Records a value with a unit that is neither a time span nor listed in [`WITH_UNIT`].
fn look(path: &str, name: &str, value: &str, found: &mut BTreeSet<String>) {
    if unit(value).is_some() && !is_span(value) && !has_line(path, name) {
        found.insert(format!("{path} {name}={value}"));
    }
}

fn menus() -> impl Iterator<Item = &'static Menu> {
    schema::ALL.iter().copied().filter(|menu| !menu.older)
}

#[test]
fn numbers_of_all_menus_have_no_unit_for_programs() {
    let mut instance = instance();
    let mut found = BTreeSet::new();
    let mut count = 0;
    for menu in menus() {
        for (name, value) in told(&mut instance, format!("{}/print", menu.path), &[]).0 {
            count += 1;
            look(menu.path, &name, &value, &mut found);
        }
        let monitors = menu.commands.iter().filter(|command| command.repeats);
        for command in monitors {
            let path = format!("{}/{}", menu.path, command.name);
            let arguments = [("numbers", "0"), ("once", "")];
            for (name, value) in told(&mut instance, path, &arguments).0 {
                count += 1;
                look(menu.path, &name, &value, &mut found);
            }
        }
    }
    assert!(count > 1_000, "{count} values were looked at");
    assert!(found.is_empty(), "{found:#?}");
}
