//! Compares the MAC table with a plain map.

use std::collections::BTreeMap;
use std::sync::Barrier;

use super::*;
use proptest::prelude::*;

const BRIDGES: [InterfaceId; 2] = [InterfaceId::new(40, 1), InterfaceId::new(41, 7)];

#[derive(Clone, Debug)]
enum Change {
    Learn(HostKey, u32, u32),
    Set(HostKey, Host),
    Remove(HostKey),
    Flush(u32, Option<u16>),
    Age(u32, u32),
    Forget(usize),
}

fn keys() -> impl Strategy<Value = HostKey> {
    // Few enough to repeat, but more than the smallest table can hold.
    (0..2_usize, 0..3_u16, 0..120_u64).prop_map(|(bridge, vid, mac)| HostKey {
        bridge: BRIDGES[bridge],
        vid,
        mac: 0x0200_0000_0000 | mac,
    })
}

fn changes() -> impl Strategy<Value = Change> {
    let host = (1..5_u32, 0..4_usize, 0..50_u32).prop_map(|(port, kind, seen)| Host {
        port: InterfaceId(port),
        kind: HostKind::ALL[kind],
        seen,
    });
    prop_oneof![
        20 => (keys(), 1..5_u32, 0..50_u32).prop_map(|(key, port, now)| Change::Learn(key, port, now)),
        2 => (keys(), host).prop_map(|(key, host)| Change::Set(key, host)),
        4 => keys().prop_map(Change::Remove),
        1 => (1..5_u32, prop::option::of(0..3_u16)).prop_map(|(port, vid)| Change::Flush(port, vid)),
        1 => (0..80_u32, 1..40_u32).prop_map(|(now, most)| Change::Age(now, most)),
        1 => (0..2_usize).prop_map(Change::Forget),
    ]
}

type Model = BTreeMap<HostKey, Host>;

fn learned(model: &Model, bridge: InterfaceId) -> u32 {
    let of =
        |(key, host): &(&HostKey, &Host)| key.bridge == bridge && host.kind == HostKind::Learned;
    model.iter().filter(of).count() as u32
}

/// Applies learning to the model. The table may in addition be full.
fn learn(model: &mut Model, key: HostKey, port: InterfaceId, now: u32, max: u32) -> Learned {
    let count = learned(model, key.bridge);
    match model.get_mut(&key) {
        Some(host) if host.kind.is_fixed() => Learned::Fixed,
        Some(host) => {
            host.seen = now;
            match core::mem::replace(&mut host.port, port) {
                before if before == port => Learned::Known,
                before => Learned::Moved(before),
            }
        }
        None if count >= max => Learned::Full,
        None => {
            let kind = HostKind::Learned;
            model.insert(
                key,
                Host {
                    port,
                    kind,
                    seen: now,
                },
            );
            Learned::New
        }
    }
}

fn carry_out(table: &BridgeHosts, model: &mut Model, change: &Change, max: u32) {
    match *change {
        Change::Learn(key, port, now) => {
            let port = InterfaceId(port);
            let got = table.learn(&key, port, now, max);
            let should = learn(model, key, port, now, max);
            if (got, should) == (Learned::Full, Learned::New) {
                // All of its lines are full.
                model.remove(&key);
            } else {
                assert_eq!(got, should, "{key:?}");
            }
        }
        Change::Set(key, host) => {
            model.remove(&key);
            if table.set(&key, host) {
                model.insert(key, host);
            }
        }
        Change::Remove(key) => assert_eq!(table.remove(&key), model.remove(&key)),
        Change::Flush(port, vid) => {
            let meant = |other: u16| vid.is_none_or(|vid| vid == other);
            table.flush(InterfaceId(port), meant);
            model.retain(|key, host| {
                host.kind.is_fixed() || host.port != InterfaceId(port) || !meant(key.vid)
            });
        }
        Change::Age(now, most) => {
            let (mut at, mut gone) = (0, Vec::new());
            loop {
                let ageing = |bridge| (bridge == BRIDGES[0]).then_some(most);
                at = table.age(at, 7, now, ageing, |key, _| gone.push(*key));
                if at == 0 {
                    break;
                }
            }
            let is_old = |key: &HostKey, host: &Host| {
                key.bridge == BRIDGES[0]
                    && host.kind == HostKind::Learned
                    && now.saturating_sub(host.seen) >= most
            };
            let mut should: Vec<_> = { model.iter() }
                .filter(|(key, host)| is_old(key, host))
                .map(|(key, _)| *key)
                .collect();
            model.retain(|key, host| !is_old(key, host));
            gone.sort();
            should.sort();
            assert_eq!(gone, should);
        }
        Change::Forget(bridge) => {
            table.forget(BRIDGES[bridge]);
            model.retain(|key, _| key.bridge != BRIDGES[bridge]);
        }
    }
}

fn all(table: &BridgeHosts) -> Vec<(HostKey, Host)> {
    let mut all = Vec::new();
    table.walk(0, u32::MAX, |key, host| {
        all.push((*key, *host));
        true
    });
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 300 }))]

    #[test]
    fn the_host_table_matches_a_map(
        seed in any::<u64>(),
        max in prop_oneof![Just(20_u32), Just(1000)],
        changes in prop::collection::vec(changes(), 1..600),
    ) {
        let table = BridgeHosts::new(64, seed).expect("memory");
        let mut model = Model::new();
        for change in &changes {
            carry_out(&table, &mut model, change, max);
        }
        let should: Vec<_> = model.iter().map(|(key, host)| (*key, *host)).collect();
        prop_assert_eq!(all(&table), should);
        for (key, host) in &model {
            prop_assert_eq!(table.get(key), Some(*host));
        }
        for bridge in BRIDGES {
            prop_assert_eq!(table.learned(bridge), learned(&model, bridge));
        }
    }
}

#[test]
fn full_cache_lines_overflow_into_others() {
    let table = BridgeHosts::new(64, 1).expect("memory");
    let key = |mac| HostKey {
        bridge: BRIDGES[0],
        vid: 0,
        mac,
    };
    let known = |mac: &u64| table.get(&key(*mac)).is_some();

    let full = (0..1_000)
        .find(|mac| table.learn(&key(*mac), InterfaceId(1), 0, u32::MAX) == Learned::Full);

    let full = full.expect("192 hosts have room");
    assert!(full > 120, "{full} hosts found room");
    assert!((0..full).all(|mac| known(&mac)));
    assert!(!known(&full));
    (0..full).for_each(|mac| assert!(table.remove(&key(mac)).is_some()));
    assert_eq!(all(&table), []);
    let mut lines = table.lines.iter();
    assert!(lines.all(|line| line[LAST].load(Ordering::Relaxed) < WRITER));
}

#[test]
fn concurrent_learning_creates_no_duplicates() {
    let (hosts, workers) = if cfg!(miri) { (20, 2) } else { (2_000, 4) };
    let table = BridgeHosts::new(4_096, 3).expect("memory");
    let key = |mac| HostKey {
        bridge: BRIDGES[1],
        vid: 9,
        mac,
    };
    let begin = Barrier::new(workers);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (table, begin) = (&table, &begin);
            scope.spawn(move || {
                begin.wait();
                for mac in 0..hosts {
                    let port = InterfaceId(1 + worker as u32);
                    while table.learn(&key(mac), port, 1, u32::MAX) == Learned::Busy {}
                    assert!(table.get(&key(mac)).is_some(), "nobody removes one");
                }
            });
        }
    });

    let all = all(&table);

    assert_eq!(all.len(), hosts as usize);
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(table.learned(BRIDGES[1]), hosts as u32);
}

#[test]
fn a_bridge_is_limited_to_its_share_of_hosts() {
    let table = BridgeHosts::new(4_096, 3).expect("memory");
    let learn = |bridge, mac| {
        let key = HostKey {
            bridge,
            vid: 0,
            mac,
        };
        table.learn(&key, InterfaceId(1), 0, 2)
    };

    let one: Vec<_> = (0..3).map(|mac| learn(BRIDGES[0], mac)).collect();

    assert_eq!(one, [Learned::New, Learned::New, Learned::Full]);
    assert_eq!(learn(BRIDGES[1], 0), Learned::New);
}
