//! Mistakes that depend on the board: the talk's four problems of one administrator, and right configurations.

use std::collections::BTreeSet;

use board::Board;

use crate::rules::BOARD_RULES;
use crate::{Finding, examine, examine_board};

fn findings(board: &str, switched: &[&str], config: &str) -> Vec<Finding> {
    let mut store = schema::store();
    let report = script::check(&mut store, config);
    assert!(report.refused.is_empty(), "{config}: {:?}", report.refused);
    let board = Board::named(board).expect(board);
    let switched: BTreeSet<_> = switched.iter().copied().collect();
    examine_board(&store, board, &switched)
}

fn names(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.name).collect()
}

fn addresses(ports: &[&str]) -> String {
    let line = |(at, port): (usize, &&str)| {
        format!("/ip/address/add address=10.9.{at}.1/24 interface={port}\n")
    };
    ports.iter().enumerate().map(line).collect()
}

#[test]
fn routed_ports_on_one_lane_are_found_while_another_lane_is_free() {
    let wrong = findings("hEX", &[], &addresses(&["ether2", "ether4"]));
    assert_eq!(names(&wrong), ["shared-lane"]);
    assert_eq!(
        wrong[0].said,
        "ether2 and ether4 share 1000 Mbps to the processor of hEX; ether1 has another connection and is free"
    );
    for right in [
        &["ether1", "ether2"][..],
        &["ether1", "ether2", "ether3", "ether4", "ether5"],
    ] {
        assert_eq!(names(&findings("hEX", &[], &addresses(right))), [""; 0]);
    }
    // Other boards do not share lanes this way.
    let other = findings("RB3011", &[], &addresses(&["ether2", "ether4"]));
    assert_eq!(names(&other), [""; 0]);
}

const BRIDGED: &str = "/interface/bridge/add name=data
/interface/bridge/port/add bridge=data interface=ether1
/interface/bridge/port/add bridge=data interface=ether2
/ip/address/add address=10.9.0.1/24 interface=data
";

#[test]
fn switching_that_costs_a_lane_is_found_and_corrected() {
    let config = [BRIDGED, &addresses(&["ether3", "ether4"])].concat();
    let switched = ["ether1", "ether2"];
    let wrong = findings("hEX", &switched, &config);
    assert_eq!(names(&wrong), ["switched-lane"]);
    let said = &wrong[0].said;
    assert!(said.contains("costs 51 % of the processor"), "{said}");
    assert_eq!(wrong[0].fix.len(), 2);
    let mut store = schema::store();
    script::check(&mut store, &config);
    let mended = script::check(&mut store, &wrong[0].fix.join("\n"));
    assert!(mended.refused.is_empty(), "{:?}", mended.refused);
    // In software nothing is switched.
    assert_eq!(names(&findings("hEX", &[], &config)), [""; 0]);
    // One uplink fills one lane: the default configuration.
    let home = [BRIDGED, "/ip/dhcp-client/add interface=ether5\n"].concat();
    assert_eq!(names(&findings("hEX", &switched, &home)), [""; 0]);
    assert_eq!(names(&findings("RB4011", &switched, &config)), [""; 0]);
}

#[test]
fn encryption_without_an_engine_is_found() {
    let policy = "/ip/ipsec/peer/add name=far address=198.51.100.7/32
/ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.2.0.0/24 tunnel=yes\n";
    let server = "/interface/l2tp-server/server/set enabled=yes use-ipsec=required ipsec-secret=long-and-random\n";
    for config in [policy, server] {
        let wrong = findings("RB3011", &[], config);
        assert_eq!(names(&wrong), ["ipsec-without-engine"], "{config}");
        assert_eq!(names(&findings("RB1100AHx2", &[], config)), [""; 0]);
        let measured = findings("hAP ac", &[], config);
        assert!(measured[0].said.contains("47.19 Mbps"), "{measured:?}");
    }
    assert_eq!(names(&findings("RB3011", &[], "")), [""; 0]);
}

#[test]
fn traffic_on_management_ports_is_found_and_management_is_not() {
    for wrong in [
        addresses(&["ether11", "ether12", "ether13"]),
        String::from("/ip/dhcp-client/add interface=ether13\n"),
        String::from(
            "/interface/bridge/add name=lan\n/interface/bridge/port/add bridge=lan interface=ether12\n",
        ),
        String::from(
            "/ip/address/add address=203.0.113.2/24 interface=ether12\n/ip/route/add gateway=203.0.113.1\n",
        ),
    ] {
        let found = findings("RB1100AHx2", &[], &wrong);
        assert!(
            names(&found).contains(&"management-port-traffic"),
            "{wrong}"
        );
    }
    let right = addresses(&["ether1", "ether6", "ether12"]);
    assert_eq!(names(&findings("RB1100AHx2", &[], &right)), [""; 0]);
    assert_eq!(
        names(&findings(
            "CCR1072",
            &[],
            &addresses(&["ether1", "sfp-sfpplus1"])
        )),
        [""; 0]
    );
}

#[test]
fn rules_of_boards_are_documented_and_stay_out_of_other_machines() {
    let page = include_str!("../../../../docs/doctor.md");
    for rule in BOARD_RULES {
        let begins = format!("- **{}** ({}): ", rule.name, rule.severity.name());
        assert!(page.contains(&begins), "{begins}");
    }
    let mut store = schema::store();
    script::check(&mut store, &addresses(&["ether2", "ether4"]));
    let names = names(&examine(&store));
    assert!(!names.contains(&"shared-lane"));
}
