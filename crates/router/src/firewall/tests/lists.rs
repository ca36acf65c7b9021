//! Times at which the data plane gets changes of address lists.

use super::*;

#[test]
fn lists_that_change_often_are_published_at_a_pace() {
    let mut bench =
        Bench::new("/ip firewall filter add chain=input src-address-list=a action=drop");
    let has = |bench: &Bench, last: u32, now: Instant| {
        let mut lists = bench.firewall.address_lists(false);
        let (_, list) = lists.next().expect("the rule's list");
        list.has(u128::from(0x0a00_0000 | last), now)
    };
    for last in 1..=100 {
        let address = std::net::Ipv4Addr::from(0x0a00_0000 | last);
        bench.change(&format!(
            "/ip firewall address-list add list=a address={address}"
        ));
    }
    assert!(has(&bench, 1, Instant::ZERO), "the first ones at once");
    assert!(!has(&bench, 100, Instant::ZERO), "the others wait");

    let deadline = bench
        .firewall
        .next_entries()
        .expect("the lists wait for it");
    assert!(bench.firewall.due(deadline).is_empty(), "no entry ends");

    assert!(has(&bench, 100, deadline));
    assert_eq!(bench.firewall.next_entries(), None);
}
