//! Questions to small configurations.

use menu::{Store, Value};

use crate::{Class, Mistake, Query, Router, Verdict, difference, shadowed};

mod addressing;
mod compare;
mod translation;

fn number_of(value: &Value) -> Option<u8> {
    match value.as_str()? {
        "icmp" => Some(1),
        "tcp" => Some(6),
        "udp" => Some(17),
        _ => None,
    }
}

fn store(text: &str) -> Store {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert!(report.refused.is_empty(), "{text}: {:?}", report.refused);
    store
}

fn names(number: u8) -> Option<&'static str> {
    [(1, "icmp"), (6, "tcp"), (17, "udp")]
        .iter()
        .find(|(own, _)| *own == number)
        .map(|(_, name)| *name)
}

fn query(from: &str, to: &str) -> Query {
    Query {
        from: from.to_owned(),
        to: to.to_owned(),
        state: "new".to_owned(),
        is_ipv6: false,
    }
}

/// Returns descriptions of the accepted classes.
fn accepted(text: &str, from: &str, to: &str) -> Vec<String> {
    answers(text, &query(from, to))
}

/// Returns descriptions of the accepted classes, with the undecided matchers.
fn answers(text: &str, query: &Query) -> Vec<String> {
    let store = store(text);
    let interfaces = Router::interfaces(&[&store]);
    let router = Router::new(&store, &interfaces, query.is_ipv6, number_of);
    let outcomes = router.ask(query).expect("an answer");
    let accepted = outcomes
        .iter()
        .filter(|outcome| outcome.verdict == Verdict::Accept);
    let described = accepted.map(|outcome| {
        let unsure = outcome.flow.unsure.iter();
        let unsure: String = unsure.map(|(_, matcher)| format!(" ?{matcher}")).collect();
        router.describe(&outcome.flow.class, names) + &unsure
    });
    described.collect()
}

const HOME: &str = "/ip/address/add address=192.168.88.1/24 interface=ether2
/ip/dhcp-client/add interface=ether1
/ip/firewall/filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop connection-state=new connection-nat-state=!dstnat in-interface=ether1
add chain=input action=accept connection-state=established,related
add chain=input action=accept protocol=icmp
add chain=input action=drop in-interface=ether1
";
/// Addresses that the router may have: all but other hosts of its network.
const ROUTER: &str = "0.0.0.0-192.168.87.255,192.168.88.1,192.168.89.0-255.255.255.255";
const WEB: &str = "/ip/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp dst-port=8080 in-interface=ether1 \
                   to-addresses=192.168.88.9 to-ports=80\n";

#[test]
fn only_translated_packets_get_from_outside_into_the_home() {
    assert_eq!(
        accepted(HOME, "wan", "192.168.88.0/24"),
        Vec::<String>::new()
    );
    let web = accepted(&[HOME, WEB].concat(), "wan", "192.168.88.0/24");
    assert_eq!(
        web,
        ["in=ether1 out=ether2 dst=192.168.88.9 protocol=tcp dst-port=80 state=new"]
    );
    let router = format!("in=ether1 dst={ROUTER} protocol=icmp state=new");
    assert_eq!(accepted(HOME, "wan", "router"), [router]);
    let lan = accepted(HOME, "ether2", "router");
    assert_eq!(lan.len(), 2, "{lan:?}");
}

#[test]
fn jumps_returns_and_lists_are_followed() {
    let text = "/ip/address/add address=10.0.0.1/24 interface=ether2\n\
                /ip/firewall/address-list/add list=good address=198.51.100.0/30\n/ip/firewall/filter\n\
                add chain=forward action=jump jump-target=outside in-interface=ether1\n\
                add chain=outside action=return src-address-list=good protocol=tcp\n\
                add chain=outside action=drop\n\
                add chain=forward action=accept protocol=tcp dst-port=22\nadd chain=forward action=drop\n";
    let expected = "in=ether1 out=ether2 src=198.51.100.0-198.51.100.3 dst=10.0.0.0,10.0.0.2-10.0.0.255 protocol=tcp \
                    dst-port=22 state=new";
    assert_eq!(accepted(text, "ether1", "10.0.0.0/24"), [expected]);
}

#[test]
fn undecided_matchers_are_named_and_leave_both_verdicts() {
    let text = "/ip/address/add address=10.0.0.1/24 interface=ether2\n/ip/firewall/filter\n\
                add chain=forward action=accept limit=5,5:packet in-interface=ether1\nadd chain=forward action=drop\n";
    let store = store(text);
    let interfaces = Router::interfaces(&[&store]);
    let router = Router::new(&store, &interfaces, false, number_of);
    let outcomes = router
        .ask(&query("ether1", "10.0.0.0/24"))
        .expect("an answer");
    let verdicts: Vec<_> = outcomes
        .iter()
        .map(|outcome| (outcome.verdict, outcome.flow.unsure.len()))
        .collect();
    assert_eq!(verdicts, [(Verdict::Accept, 1), (Verdict::Drop, 1)]);
    assert_eq!(outcomes[0].flow.unsure[0].1, "limit");
    let unknown = router.ask(&query("nowhere", "router"));
    assert!(matches!(unknown, Err(Mistake::Unknown(name)) if name == "nowhere"));
}

#[test]
fn several_rules_together_shadow_a_later_one() {
    let text = "/ip/firewall/filter\nadd chain=forward action=drop protocol=tcp dst-port=0-1000\n\
                add chain=forward action=accept protocol=tcp dst-port=1001-65535\n\
                add chain=forward action=accept protocol=tcp src-address=10.0.0.0/8\n\
                add chain=forward action=accept protocol=udp src-address=10.0.0.0/8\n";
    let store = store(text);
    let interfaces = Router::interfaces(&[&store]);
    let router = Router::new(&store, &interfaces, false, number_of);
    let ids: Vec<_> = store
        .items("/ip/firewall/filter")
        .map(|rule| rule.id)
        .collect();
    let found = shadowed(&router, "/ip/firewall/filter");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule.1, ids[2]);
    let by: Vec<_> = found[0].by.iter().map(|rule| rule.1).collect();
    assert_eq!(by, ids[..2]);
}

#[test]
fn a_change_of_a_rule_is_the_difference_of_two_files() {
    let closed = HOME.replace("protocol=icmp", "protocol=icmp src-address=198.51.100.0/24");
    let stores = [store(HOME), store(&closed)];
    let interfaces = Router::interfaces(&[&stores[0], &stores[1]]);
    let classes = stores.each_ref().map(|store| {
        let router = Router::new(store, &interfaces, false, number_of);
        let outcomes = router.ask(&query("wan", "router")).expect("an answer");
        let accepted = outcomes
            .into_iter()
            .filter(|outcome| outcome.verdict == Verdict::Accept);
        accepted
            .map(|outcome| outcome.flow.class)
            .collect::<Vec<Class>>()
    });
    let router = Router::new(&stores[0], &interfaces, false, number_of);
    let lost = difference(&classes[0], &classes[1], 100).expect("few classes");
    let lost: Vec<_> = lost
        .iter()
        .map(|class| router.describe(class, names))
        .collect();
    let sources = "0.0.0.0-198.51.99.255,198.51.101.0-255.255.255.255";
    let expected = format!("in=ether1 src={sources} dst={ROUTER} protocol=icmp state=new");
    assert_eq!(lost, [expected]);
    assert_eq!(difference(&classes[1], &classes[0], 100), Some(Vec::new()));
}
