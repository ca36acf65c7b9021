//! Rules that are changed one by one, or that features create.

use std::collections::VecDeque;

use machine::Rng;

use super::*;

const MENU: &str = "/ip firewall filter";
const CHAINS: [&str; 3] = ["forward", "one", "two"];

/// Returns a random action; jumps may form a circle.
fn action(rng: &mut Rng) -> String {
    match rng.next_u32() % 6 {
        0 => "action=jump jump-target=one".to_owned(),
        1 => "action=jump jump-target=two".to_owned(),
        number => format!("action=drop dst-address=192.0.2.{number}"),
    }
}

/// Returns a random change of one of `count` rules.
fn command(rng: &mut Rng, count: usize) -> String {
    let mut place = || rng.next_u32() as usize % count.max(1);
    let (which, other) = (place(), place());
    match rng.next_u32() % 6 {
        0 if count > 0 => format!("{MENU} remove {which}"),
        1 if which != other => format!("{MENU} move {which} {other}"),
        2 if count > 0 => format!("{MENU} disable {which}"),
        3 if count > 0 => format!("{MENU} enable {which}"),
        4 if count > 0 => format!("{MENU} set {which} {}", action(rng)),
        _ => {
            let chain = CHAINS[rng.next_u32() as usize % CHAINS.len()];
            let before = match count {
                0 => String::new(),
                _ => format!(" place-before={which}"),
            };
            format!("{MENU} add chain={chain} {}{before}", action(rng))
        }
    }
}

/// Returns the items of the rules in each chain, and the items of invalid jumps.
fn shape(firewall: &Firewall) -> (Vec<Vec<u64>>, Vec<u64>) {
    let table = &firewall.compiled().ipv4.filter;
    let item = |number: u32| firewall.item_of(number).map_or(0, |(_, item)| item);
    let chains = CHAINS.iter().map(|name| {
        let chain = table.find(name).and_then(|id| table.chain(id));
        let rules = chain.into_iter().flat_map(Chain::rules);
        rules.map(|rule| item(rule.id)).collect()
    });
    let mut refused: Vec<_> = table.refused().iter().map(|rule| item(*rule)).collect();
    refused.sort_unstable();
    (chains.collect(), refused)
}

#[test]
fn rules_that_change_one_by_one_give_the_same_table_as_a_load() {
    for seed in 0..20 {
        let mut rng = Rng::seeded(seed);
        let mut bench = Bench::new("");
        let mut made = VecDeque::new();
        let values = [
            ("chain", Value::text("forward")),
            ("action", Value::Word("accept")),
        ];
        for number in 0..40 {
            let mut said = String::new();
            match rng.next_u32() % 8 {
                0 => {
                    bench.firewall.make(FILTER, Id(DYNAMIC | number), &values);
                    made.push_back(DYNAMIC | number);
                    bench.follow_made();
                }
                1 => {
                    if let Some(id) = made.pop_front() {
                        bench.firewall.unmake(FILTER, id);
                    }
                    bench.follow_made();
                }
                _ => {
                    said = command(&mut rng, bench.store.count(FILTER));
                    bench.change(&said);
                }
            }
            let mut fresh = Firewall::new(vec![Arc::clone(&bench.counters)]);
            for id in &made {
                fresh.make(FILTER, Id(*id), &values);
            }
            fresh.load(&bench.store, &bench.around());
            let (now, loaded) = (shape(&bench.firewall), shape(&fresh));
            assert_eq!(now, loaded, "seed {seed}, step {number}: {said}");
        }
    }
}

#[test]
fn a_dynamic_rule_decides_before_stored_rules_until_removed() {
    let mut bench = Bench::new(
        "/ip firewall address-list add list=bad address=192.0.2.0/24\n\
         /ip firewall filter add chain=input action=accept\n",
    );
    let drops = |bench: &Bench, ingress: &str| {
        let asked = Asked {
            ingress,
            ..Asked::default()
        };
        let filter = &bench.firewall.compiled().ipv4.filter;
        is_drop(bench.verdict(filter, "input", &asked))
    };
    let values = [
        ("chain", Value::text("input")),
        ("action", Value::Word("drop")),
        ("in-interface", Value::text("ether1")),
        ("src-address-list", Value::text("bad")),
    ];
    let id = DYNAMIC | 5;
    bench.firewall.make(FILTER, Id(id), &values);
    assert!(!drops(&bench, "ether1"));
    assert!(bench.follow_made());
    assert!(drops(&bench, "ether1") && !drops(&bench, "ether2"));
    let number = { bench.firewall.desk(FILTER) }.and_then(|desk| desk.number(id));
    let owner = number.and_then(|number| bench.firewall.item_of(number));
    assert_eq!(owner, Some((FILTER, id)));

    bench.change("/ip firewall filter add chain=input action=accept place-before=0");
    assert!(drops(&bench, "ether1"));

    bench.firewall.unmake(FILTER, id);
    assert!(bench.follow_made());
    assert!(!drops(&bench, "ether1"));
    assert!(!bench.follow_made());
}
