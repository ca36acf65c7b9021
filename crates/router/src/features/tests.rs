mod client;
mod dhcp_server;
mod dns;
mod full;
mod ipsec;
mod looped;
mod mac_tools;
mod newcomer;
mod ppp;
mod ppp_radius;
mod pppoe;
mod radius;
mod restless;
mod rig;
mod session_data;
mod sources;
mod tunnels;
mod units;

use std::collections::BTreeSet;

use machine::Duration;
use menu::{Clock, Store, Value};
use service::dns::QueryResult;

use super::*;
use crate::clock::DayClock;
use crate::drive::asking::Asking;
use crate::feature::Effect;
use crate::intent::Name;

/// Adds an item and passes the transaction to the features.
fn add(
    features: &mut Features,
    store: &mut Store,
    path: &str,
    given: &[(&'static str, Value)],
) -> Vec<Effect> {
    let menu = store.menu(path).expect("declared");
    let given: Vec<_> = given.iter().cloned().map(|(n, v)| (n, Some(v))).collect();
    let mark = store.begin();
    store.add(menu, &given, None).expect("good values");
    let changes = store.commit(mark).expect("nothing is journaled");
    follow(features, store, changes.as_deref())
}

/// Returns features without a configuration, in 1970.
fn features() -> Features {
    let clock = DayClock::new(Clock::utc(0));
    let (mut rng, mut secrets) = (Rng::seeded(1), Rng::seeded(2));
    Features::new(&mut rng, &mut secrets, &clock, Instant::ZERO)
}

fn follow(features: &mut Features, store: &Store, changes: Option<&Changes>) -> Vec<Effect> {
    let view = View {
        store,
        asking: &Asking::default(),
        interfaces: &crate::intent::Items::default(),
        now: Instant::ZERO,
        clock: Clock::utc(0),
    };
    let mut out = Effects::default();
    features.follow(&view, changes, &mut out);
    out.into_iter().collect()
}

#[test]
fn features_have_a_part_in_menus_that_are_declared() {
    let (store, features) = (schema::store(), features());
    for feature in features.list() {
        let menus = feature.menus();
        for path in menus {
            assert!(store.menu(path).is_some(), "{path}");
        }
        let each: BTreeSet<_> = menus.iter().collect();
        assert_eq!(each.len(), menus.len(), "each once: {menus:?}");
    }
}

#[test]
fn a_transaction_reaches_only_features_with_changed_menus() {
    let (mut store, mut features) = (schema::store(), features());
    follow(&mut features, &store, None);
    let event = [
        ("name", Value::text("x")),
        ("start-date", Value::text("1970-01-01")),
        ("start-time", Value::text("00:00:00")),
        ("interval", Value::Time(5_000_000_000)),
    ];
    add(&mut features, &mut store, "/system/scheduler", &event);
    let five = Instant::ZERO + Duration::from_secs(5);
    assert_eq!(features.deadline(), Some(five));

    let mut out = Effects::default();
    features.tick(Instant::ZERO, &mut out);
    assert_eq!(features.deadline(), Some(five), "it was not due");
    features.tick(five, &mut out);
    assert_eq!(features.deadline(), None, "the owner is awake");
    let script = [("name", Value::text("y"))];
    add(&mut features, &mut store, "/system/script", &script);
    assert_eq!(features.deadline(), None, "that is no event");
}

#[test]
fn requests_between_features_are_effects() {
    let (mut store, mut features) = (schema::store(), features());
    follow(&mut features, &store, None);
    let mut out = Effects::default();
    let servers = vec!["192.0.2.53:53".parse().expect("an address")];
    { &mut features.dns }.set_machine(servers, Instant::ZERO, &mut out);
    let entry = [
        ("list", Value::text("x")),
        ("address", Value::text("a.example")),
    ];
    let path = "/ip/firewall/address-list";
    assert_eq!(add(&mut features, &mut store, path, &entry), []);

    let asks = features.dns.take_asks();
    assert_eq!(asks.len(), 1);
    let told = QueryResult::Message(dns::answer(&asks[0].message, [10, 0, 0, 1]));
    { &mut features.dns }.told(asks[0].ticket, told, Instant::ZERO, &mut out);
    let entered = Effect::ListEntry {
        ipv6: false,
        list: Name::from("x"),
        address: 0x0a00_0001,
        comes: true,
    };
    assert_eq!(out.into_iter().collect::<Vec<_>>(), [entered]);
}
