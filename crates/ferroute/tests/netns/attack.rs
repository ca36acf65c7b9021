//! Tests a router under attack: established connections lose nothing, and every discarded packet has a drop reason.
//! `ferroute bench attack` generates the attacks; this test does not check the measured speed.

use std::process::{Command, Stdio};

use lab::Holding;
use lab::testing::skip;

use crate::world::{binary, have, text};

/// Drop reasons that must not hit packets of established connections.
const OF_ATTACKERS: [&str; 3] = ["firewall-filter", "connections-full", "reassembly"];

#[test]
fn established_connections_survive_attacks_and_every_drop_has_a_reason() {
    let test = "established_connections_survive_attacks_and_every_drop_has_a_reason";
    if !have(test, &["ip", "ethtool"]) {
        return;
    }
    if !matches!(Holding::choose(), Ok(Holding::Named)) {
        return skip(test, "the attacker needs root");
    }
    let attacks = ["syn-flood", "udp-flood", "fragments", "port-scan"];
    let output = Command::new(binary())
        .args(["bench", "attack", "--json", "--seconds", "2"])
        .args(["--rate", "5000"])
        .args(attacks)
        .stdin(Stdio::null())
        .output()
        .expect("the binary under test exists");
    let complaint = text(&output.stderr);
    assert!(output.status.success(), "{complaint}");

    let said = text(&output.stdout);
    let reports = said.lines().map(|line| {
        let report = serde_json::from_str::<serde_json::Value>(line);
        report.unwrap_or_else(|error| panic!("{error}: {line}"))
    });
    let reports: Vec<_> = reports.collect();
    assert_eq!(reports.len(), attacks.len(), "{said}");
    for (attack, report) in attacks.iter().zip(&reports) {
        assert_eq!(report["attack"], **attack);
        let number = |value: &serde_json::Value| value.as_i64().expect("a number");
        let established = &report["established"];
        assert_eq!(
            established["survived"], established["connections"],
            "{report:#}"
        );
        assert!(number(&established["sent"]) > 1_000, "{report:#}");
        let drops = report["drops"].as_object().expect("drops by reason");
        let others = drops
            .iter()
            .filter(|(reason, _)| !OF_ATTACKERS.contains(&reason.as_str()));
        let others: i64 = others.map(|(_, count)| number(count)).sum();
        let missed = number(&established["missed_by_receiver"]);
        assert!(
            number(&established["lost"]) <= others + missed,
            "{report:#}"
        );
        assert_eq!(report["unnamed"], 0, "{report:#}");
        for pings in ["pings_before", "pings_during"] {
            for target in 0..2 {
                let ping = &report[pings][target];
                assert!(number(&ping["sent"]) > number(&ping["lost"]), "{report:#}");
            }
        }
        assert!(
            number(&report["entries"]) <= number(&report["entries_max"]),
            "{report:#}"
        );
        match *attack {
            // The attack is effective: its connections fill the table, or were discarded.
            "syn-flood" | "udp-flood" => {
                assert!(number(&report["entries"]) > 3_000, "{report:#}");
            }
            _ => assert!(!drops.is_empty(), "{report:#}"),
        }
    }
}
