//! Tests RouterOS's default firewall, alone and with usual additions.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use lab::Lab;

use super::{SERVER, ask, ask_one, hits, peer, seen, serve};
use crate::throughput::tcp_both_ways;
use crate::world::{PACKET, Router, Start, have, lab, layout, output, run, text, until};

const TRACKED: &str = "/ip/firewall/connection";
const ACCEPTS: &str = "defconf: accept established,related, untracked";

#[test]
fn a_home_reaches_the_internet_and_accepts_no_connections() {
    let test = "a_home_reaches_the_internet_and_accepts_no_connections";
    let Some(lab) = have(test, &["python3", "iperf3", "traceroute"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("static").config));
    let _server = serve(&lab, "server", &["80", "53"]);
    let _client = serve(&lab, "client", &["22", "80"]);
    until("packets pass", || {
        seen(&ask_one(&lab, "client", "tcp 203.0.113.1 80 1")) == "203.0.113.2"
    });

    the_lan_gets_out(&lab);
    the_internet_stays_out(&lab, &router);
    an_established_flow_takes_the_fast_track(&lab, &router);
    a_removed_connection_is_gone(&lab, &router);
    replaced_rules_lose_no_packet(&lab, &router);
}

fn the_lan_gets_out(lab: &Lab) {
    for (address, shown) in SERVER.iter().zip(["203.0.113.2", "2001:2:0:88:"]) {
        let probes = ["tcp", "udp"].map(|how| format!("{how} {address} 53"));
        for said in ask(lab, "client", &probes) {
            assert!(said.starts_with(shown), "{address}: {said}");
        }
        let line = format!("traceroute -n -q 1 -N 1 -w 10 -m 5 {address}");
        let said = run(lab, "client", &line);
        assert_eq!(said.lines().count(), 3, "{line}\n{said}");
    }
}

fn the_internet_stays_out(lab: &Lab, router: &Router) {
    let before = hits(
        router,
        "/ip/firewall/filter",
        "defconf: drop all not coming from LAN",
    );
    let mut probes = Vec::new();
    for to in [
        "192.168.88.10",
        "2001:2:0:88::10",
        "203.0.113.2",
        "2001:2:0:1::2",
    ] {
        // The hosts of the LAN have servers at ports 22 and 80; the router has its own there.
        let these = ["tcp 22", "tcp 80", "udp 80"].map(|probe| {
            let (how, port) = probe.split_once(' ').expect("written above");
            format!("{how} {to} {port} 0.2")
        });
        probes.extend(these);
    }

    let said = ask(lab, "server", &probes);

    assert_eq!(said, vec!["nothing"; probes.len()]);
    let after = hits(
        router,
        "/ip/firewall/filter",
        "defconf: drop all not coming from LAN",
    );
    assert!(after >= before + 3, "{before} {after}");
}

fn an_established_flow_takes_the_fast_track(lab: &Lab, router: &Router) {
    let counted = || {
        let fast = router.number("/ip/settings/print", "", "ipv4-fasttrack-packets");
        (fast, hits(router, "/ip/firewall/filter", ACCEPTS))
    };
    let before = counted();

    tcp_both_ways(lab, SERVER[0], 5);
    let stream = Stream::begin(lab);
    until("thousands went the fast way", || {
        counted().0 >= before.0 + 20_000
    });
    assert_eq!(stream.end().1, 0);

    let rows = router.rows(&format!("{TRACKED}/print where fasttrack and protocol=udp"));
    let count = |row: &serde_json::Value, name: &str| {
        let value = row[name]
            .as_str()
            .and_then(|value| value.parse::<u64>().ok());
        value.unwrap_or_else(|| panic!("{name} in {row:#}"))
    };
    let of_row = rows.iter().map(|row| {
        let all = count(row, "orig-packets");
        (all, all - count(row, "orig-fasttrack-packets"))
    });
    // One packet takes the slow path before the connection is FastTracked, and then one per second.
    let (all, slow) = of_row.max().expect("the stream's connection");
    assert!(all > 1_000 && slow * 20 < all, "{slow} of {all} slow");
    let after = counted();
    assert!(
        (after.1 - before.1) * 10 < after.0 - before.0,
        "{before:?} {after:?}"
    );
    tcp_both_ways(lab, SERVER[1], 5);
    dummy_rules_count_fasttracked_packets(router);
}

/// Checks the counters of rows that are no rules: FastTrack's dummy rules.
fn dummy_rules_count_fasttracked_packets(router: &Router) {
    let tables: [(&str, &str, &[&str]); 5] = [
        ("/ip", "filter", &["forward"]),
        ("/ip", "mangle", &["prerouting", "forward", "postrouting"]),
        ("/ip", "raw", &["prerouting"]),
        ("/ip", "nat", &[]),
        ("/ipv6", "filter", &["forward"]),
    ];
    for (family, table, chains) in tables {
        let rows = router.rows(&format!("{family}/firewall/{table}/print where dynamic"));
        let of = |row: &serde_json::Value| row["chain"].as_str().unwrap_or_default().to_owned();
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), chains, "{rows:#?}");
        let (settings, six) = match family {
            "/ip" => ("ipv4", ""),
            _ => ("ipv6", "6"),
        };
        let carried = format!("{settings}-fasttrack-packets");
        let carried = router.number(&format!("{family}/settings/print"), "", &carried);
        assert!(carried > 1_000, "{family} {carried}");
        for row in &rows {
            let comment = format!("special dummy rule to show fasttrack{six} counters");
            assert_eq!(row["comment"], comment.as_str());
            assert_eq!(row["packets"], carried.to_string().as_str(), "{row:#}");
        }
    }
}

fn a_removed_connection_is_gone(lab: &Lab, router: &Router) {
    let which = "where protocol=udp and dst-port=53 and src-address=192.168.88.10";
    ask_one(lab, "client", "udp 203.0.113.1 53");
    let rows = router.rows(&format!("{TRACKED}/print {which}"));
    assert!(!rows.is_empty());
    assert!(
        rows.iter()
            .all(|row| row["reply-dst-address"] == "203.0.113.2"),
        "{rows:#?}"
    );
    let others = router.rows(&format!("{TRACKED}/print where protocol=tcp"));

    let which = which.trim_start_matches("where ");
    router.exec(&format!("{TRACKED}/remove [find {which}]"));

    until("they are gone", || {
        router
            .rows(&format!("{TRACKED}/print where {which}"))
            .is_empty()
    });
    let left = router.rows(&format!("{TRACKED}/print where protocol=tcp"));
    assert!(others.is_empty() || !left.is_empty(), "{others:#?}");
}

fn replaced_rules_lose_no_packet(lab: &Lab, router: &Router) {
    let stream = Stream::begin(lab);

    router.exec(
        ":for i from=1 to=50 do={\
           /ip firewall filter add chain=forward action=drop protocol=tcp dst-port=\"$i\" comment=x; \
           /ip firewall mangle add chain=prerouting action=mark-packet new-packet-mark=m comment=x; \
           /ip firewall nat set [find action=masquerade] comment=\"number $i\"; \
           /ip firewall filter remove [find comment=x]; /ip firewall mangle remove [find comment=x]}",
    );

    let (sent, lost) = stream.end();
    assert!(sent > 250 && lost == 0, "{lost} of {sent} lost");
}

/// A stream of numbered datagrams from the client to the server and back.
pub(super) struct Stream {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Stream {
    pub(super) fn begin(lab: &Lab) -> Self {
        let mut command = peer(lab, "client", "stream");
        command.args([SERVER[0], "53"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is there");
        let mut said = BufReader::new(child.stdout.take().expect("asked for above"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it writes text");
        assert_eq!(line, "begun\n");
        Self { child, said }
    }

    /// Ends the stream. Returns the number of sent and of lost datagrams.
    pub(super) fn end(mut self) -> (u64, u64) {
        drop(self.child.stdin.take());
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it writes text");
        assert!(self.child.wait().expect("our child").success());
        let (sent, lost) = line.trim().split_once(' ').expect("two numbers");
        (sent.parse().expect("one"), lost.parse().expect("another"))
    }
}

#[test]
fn the_path_mtu_is_found_behind_nat() {
    let test = "the_path_mtu_is_found_behind_nat";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("pmtu")))
        .flatten()
    else {
        return;
    };
    let near = layout("pmtu").config.to_owned()
        + "/ip firewall nat\nadd action=masquerade chain=srcnat out-interface=ether1\n";
    let _router = Router::start(&lab, &Start::with(PACKET, &near));
    // Only the second router knows a route to the LAN, so replies prove the translation.
    run(&lab, "far", "ip route delete 192.168.88.0/24");
    run(&lab, "far", "ip link set eth1 mtu 1300");
    let ping = |size: u32| format!("ping -M do -c 1 -W 10 -s {size} 198.51.100.80");

    // The near router refuses the first size, the far router the second.
    for (size, mtu) in [(1472, 1400), (1372, 1300)] {
        let said = text(&output(&lab, "client", &ping(size)).stdout);
        assert!(said.contains(&format!("mtu = {mtu}")), "{said}");
    }
    run(&lab, "client", &ping(1272));
}
