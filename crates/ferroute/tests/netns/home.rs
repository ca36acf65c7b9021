//! The lab `home`: RouterOS's default firewall between a client, a router and the internet.

use lab::Lab;

use crate::world::{PACKET, Router, Start, have, lab, layout, run, works};

pub(crate) fn home(test: &str) -> Option<(Lab, Router)> {
    let lab = have(test, &["ping"])
        .then(|| lab(test, layout("home")))
        .flatten()?;
    let router = Router::start(&lab, &Start::with(PACKET, layout("home").config));
    Some((lab, router))
}

/// Packets that the rule with this comment has matched.
pub(crate) fn hits(router: &Router, menu: &str, comment: &str) -> u64 {
    let rows = router.rows(&format!("{menu}/print"));
    let row = rows.iter().find(|row| row["comment"] == comment);
    let packets = row.and_then(|row| row["packets"].as_str());
    packets.map_or(0, |packets| packets.parse().expect("a number"))
}

#[test]
fn the_default_firewall_lets_the_lan_out_and_nobody_in() {
    let Some((lab, router)) = home("the_default_firewall_lets_the_lan_out_and_nobody_in") else {
        return;
    };

    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 203.0.113.1");
    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 198.51.100.80");
    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 2001:2:0:80::80");
    // Echo requests to the router itself are welcome from everywhere.
    run(&lab, "server", "ping -q -c 3 -i 0.01 -W 10 203.0.113.2");
    assert!(!works(&lab, "server", "ping -q -c 1 -W 1 192.168.88.10"));

    let rows = router.rows("/ip/firewall/connection/print");
    let hidden = |row: &serde_json::Value| {
        row["src-address"] == "192.168.88.10" && row["reply-dst-address"] == "203.0.113.2"
    };
    assert!(rows.iter().any(hidden), "{rows:#?}");
    let filter = "/ip/firewall/filter";
    let dropped = "defconf: drop all from WAN not DSTNATed";
    assert_eq!(hits(&router, filter, dropped), 1);
    assert!(hits(&router, "/ip/firewall/nat", "defconf: masquerade") >= 2);
}
