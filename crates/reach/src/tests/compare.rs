//! Differences between two configurations with undecided matchers.

use super::{HOME, names, number_of, query, store};
use crate::{Router, gained};

const LIST: &str = "/ip/firewall/filter\nadd chain=forward action=accept src-address-list=vpn in-interface=ether3 \
                    protocol=tcp\nadd chain=forward action=drop in-interface=ether3\n";
const NEW: &str = "in=ether3 out=ether2 dst=192.168.88.9 protocol=tcp state=new";

/// Returns the packets that the second configuration lets through and the first does not.
fn opened(texts: [&str; 2]) -> Vec<String> {
    let stores = texts.map(|text| store(&[HOME, text].concat()));
    let interfaces = Router::interfaces(&[&stores[0], &stores[1]]);
    let routers = stores
        .each_ref()
        .map(|store| Router::new(store, &interfaces, false, number_of));
    let question = query("ether3", "192.168.88.9");
    let [old, new] = routers
        .each_ref()
        .map(|router| router.ask(&question).expect("an answer"));
    let gained = gained(&new, &old).expect("few classes");
    let described = gained
        .iter()
        .map(|(_, class)| routers[1].describe(class, names));
    described.collect()
}

#[test]
fn packets_that_perhaps_got_through_and_surely_do_now_are_listed() {
    let open = LIST.replace("src-address-list=vpn ", "");
    assert_eq!(opened([LIST, &open]), [NEW]);
    assert!(opened([&open, LIST]).is_empty());
    assert!(opened([LIST, LIST]).is_empty());
    assert!(opened([&open, &open]).is_empty());
    let closed = LIST.replace("action=accept", "action=drop");
    assert_eq!(opened([&closed, LIST]), [NEW]);
}

#[test]
fn packets_that_every_rule_accepts_got_through_surely() {
    let both = LIST.replace("action=drop", "action=accept");
    let one = "/ip/firewall/filter/add chain=forward action=accept in-interface=ether3\n";
    assert!(opened([&both, one]).is_empty());
    assert!(opened([one, &both]).is_empty());
}

#[test]
fn an_undecided_translation_is_not_sure() {
    let forward = "/ip/firewall/nat/add chain=dstnat action=dst-nat in-interface=ether3 src-address-list=vpn \
                   to-addresses=192.168.88.9\n";
    let fixed = forward.replace(" src-address-list=vpn", "");
    let opened_now = opened([forward, &fixed]);
    assert_eq!(
        opened_now,
        ["in=ether3 out=ether2 dst=192.168.88.9 state=new"]
    );
    assert!(opened([forward, forward]).is_empty());
}
