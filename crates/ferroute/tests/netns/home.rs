//! Tests RouterOS's default configuration of a home router, as exported, with a stock provider and stock clients; and
//! its firewall on static addresses (the lab `static`).

use std::fs;
use std::process::Command;

use lab::Lab;

use crate::daemons::{Daemons, RESOLVER, given};
use crate::world::{
    Folder, PACKET, Router, Server, Start, binary, have, lab, layout, run, shell, text, until,
    works,
};

pub(crate) fn home(test: &str) -> Option<(Lab, Router)> {
    let lab = have(test, &["ping"])
        .then(|| lab(test, layout("static")))
        .flatten()?;
    let router = Router::start(&lab, &Start::with(PACKET, layout("static").config));
    Some((lab, router))
}

/// Returns the number of packets that the rule with this comment has matched.
pub(crate) fn hits(router: &Router, menu: &str, comment: &str) -> u64 {
    let rows = router.rows(&format!("{menu}/print"));
    let row = rows.iter().find(|row| row["comment"] == comment);
    let packets = row.and_then(|row| row["packets"].as_str());
    packets.map_or(0, |packets| packets.parse().expect("a number"))
}

#[test]
fn the_default_firewall_accepts_traffic_from_the_lan_only() {
    let Some((lab, router)) = home("the_default_firewall_accepts_traffic_from_the_lan_only") else {
        return;
    };

    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 203.0.113.1");
    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 198.51.100.80");
    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 2001:2:0:80::80");
    // The router answers echo requests from everywhere.
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

/// Tests web access of a client: DNS by the router, pages by masquerade and FastTrack.
fn surf(lab: &Lab, router: &Router, folder: &Folder) {
    let names = fs::read_to_string(folder.file(RESOLVER)).expect("a lease was told");
    assert_eq!(names.trim(), "nameserver 192.168.88.1");
    let dig = |name: &str| run(lab, "client", &format!("dig +short @192.168.88.1 {name}"));
    assert_eq!(dig("router.lan").trim(), "192.168.88.1");
    assert_eq!(dig("www.example.net").trim(), "198.51.100.80");
    let fetch = |what: &str| {
        let resolver = folder.file(RESOLVER);
        let script = format!(
            "unshare -m --propagation private sh -ec 'mount --bind {} /etc/resolv.conf; {what}'",
            resolver.display()
        );
        shell(lab, "client", &script)
    };
    assert_eq!(
        fetch("curl -sS http://www.example.net/"),
        "a page of the internet\n"
    );
    let long = fetch("curl -sS http://www.example.net/long | wc -c");
    assert_eq!(long.trim(), "2000000");
    assert!(hits(router, "/ip/firewall/nat", "defconf: masquerade") >= 2);
    let fasttracked = router.number("/ip/settings/print", "", "ipv4-fasttrack-packets");
    assert!(fasttracked > 500, "{fasttracked}");
}

#[test]
fn the_default_configuration_serves_a_home() {
    let test = "the_default_configuration_serves_a_home";
    let programs = ["dnsmasq", "udhcpc", "dig", "curl", "python3", "unshare"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("home")))
        .flatten()
    else {
        return;
    };
    if lab.holding() != lab::Holding::Named {
        return lab::testing::skip(test, "dnsmasq and udhcpc need root");
    }
    let pages = Folder::new();
    fs::write(pages.file("index.html"), "a page of the internet\n").expect("a folder of our own");
    fs::write(pages.file("long"), vec![b'x'; 2_000_000]).expect("a folder of our own");
    let serve = format!(
        "python3 -u -m http.server 80 --bind 198.51.100.80 --directory {}",
        pages.file("").display()
    );
    let _internet = Server::start(&lab, "server", &serve, "Serving HTTP");
    let daemons = Daemons::start(&lab, layout("home"));
    let router = Router::start(&lab, &Start::with(PACKET, layout("home").config));

    // The router gets an address of the provider, and hosts get addresses of the router.
    until("the provider gives an address", || {
        let rows = router.rows("/ip/dhcp-client/print");
        rows.iter()
            .any(|row| row["status"] == "bound" && row["address"] == "203.0.113.100/24")
    });
    for host in ["client", "laptop"] {
        until(&format!("{host} has an address"), || {
            given(&lab, host).is_some_and(|address| address.starts_with("192.168.88."))
        });
    }
    let client = given(&lab, "client").expect("it was there");
    let leases = router.rows("/ip/dhcp-server/lease/print");
    let bound = |row: &&serde_json::Value| row["status"] == "bound";
    assert_eq!(leases.iter().filter(bound).count(), 2, "{leases:#?}");

    surf(&lab, &router, daemons.folder());

    // From outside, only the router's echo replies are reachable.
    run(&lab, "server", "ping -q -c 1 -W 10 203.0.113.100");
    assert!(!works(
        &lab,
        "server",
        &format!("ping -q -c 1 -W 1 {client}")
    ));
    assert!(!works(
        &lab,
        "server",
        "curl -sS --connect-timeout 1 http://203.0.113.100/"
    ));
    assert!(!works(
        &lab,
        "server",
        "dig +time=1 +tries=1 @203.0.113.100 www.example.net"
    ));
    assert!(router.stop().success());
}

#[test]
fn only_mac_servers_of_the_default_configuration_have_no_effect() {
    let folder = Folder::new();
    let file = folder.file("home.rsc");
    fs::write(&file, layout("home").config).expect("a folder of our own");
    let output = Command::new(binary()).arg("check").arg(file).output();
    let output = output.expect("the binary under test exists");
    let said = text(&output.stdout) + &text(&output.stderr);
    let lines: Vec<_> = said
        .lines()
        .filter(|line| line.contains("no effect"))
        .collect();
    assert!(
        lines.iter().all(|line| line.contains("/tool/mac-server")),
        "{said}"
    );
    assert!(said.contains(" 0 refused"), "{said}");
}
