//! Tests the labs with a story: `ferroute lab measure` must show the difference between the faulty and the corrected
//! configuration.

use std::process::{Command, Stdio};

use lab::{Holding, Lab, Layout};
use serde_json::Value;

use crate::world::{binary, driver_works, have, lab, output, text};

/// Measures a lab with its faulty and its corrected configuration; `None` if this machine cannot run it.
fn measured(test: &str, story: &str) -> Option<[Value; 2]> {
    let output = Command::new(binary())
        .args(["lab", "measure", story, "--json"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary under test exists");
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{test}: {complaint}");
    let measured: Value = serde_json::from_str(&said).expect("--json prints JSON");
    let [wrong, right] = [&measured[0], &measured[1]].map(Clone::clone);
    assert_eq!(
        (&wrong["configuration"], &right["configuration"]),
        (&Value::from("wrong"), &Value::from("right")),
    );
    Some([wrong, right])
}

/// Starts a lab with the same hosts, to find out whether this machine can run it.
fn tried(test: &str, story: &str) -> Option<Lab> {
    let layout: &Layout = lab::layout(story).expect("a layout that comes with ferroute");
    let lab = lab(test, layout)?;
    (lab.holding() == Holding::Named || driver_works(test, &lab, crate::world::XDP)).then_some(lab)
}

fn number(of: &Value, name: &str) -> u64 {
    let number = of[name].as_u64();
    number.unwrap_or_else(|| panic!("no number {name} in {of:#}"))
}

/// Returns the sent and received packets of a flow.
fn flow(of: &Value, name: &str) -> [u64; 2] {
    let flows = of["flows"].as_array().expect("a list");
    let flow = flows.iter().find(|flow| flow["name"] == name);
    let flow = flow.unwrap_or_else(|| panic!("no flow {name} in {of:#}"));
    ["sent", "received"].map(|what| number(flow, what))
}

#[test]
fn slow_bridging_comes_from_a_filter_for_all_frames_and_a_switch_rule_corrects_it() {
    let test = "slow_bridging_comes_from_a_filter_for_all_frames_and_a_switch_rule_corrects_it";
    if tried(test, "slow-bridging").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "slow-bridging") else {
        return;
    };
    for measured in [&wrong, &right] {
        let [sent, received] = flow(measured, "workstation to server");
        assert_eq!(sent, 20_000, "{measured:#}");
        assert!(received > 0, "{measured:#}");
        assert!(number(measured, "frames") >= received, "{measured:#}");
        // The guests never reach the server, switched or not.
        assert_eq!(flow(measured, "guest to server"), [0, 0], "{measured:#}");
    }
    // With the faulty configuration, rules inspect every frame; no frame takes the fast path or is switched.
    let [_, received] = flow(&wrong, "workstation to server");
    assert!(number(&wrong, "filtered") >= received, "{wrong:#}");
    assert_eq!(wrong["switched"], serde_json::json!([]));
    assert_eq!(wrong["reasons"]["ether2"], "hw=no");
    assert_eq!(number(&wrong, "fast-path"), 0, "{wrong:#}");
    // With the corrected configuration, the switch forwards all frames, and rules see only those of guests.
    assert_eq!(right["switched"], serde_json::json!(["ether2", "ether3"]));
    assert!(number(&right, "filtered") < 200, "{right:#}");
    assert!(number(&right, "fast-path") < 200, "{right:#}");
    let clocks = |of: &Value| number(&of["clocks"], "bridging") / number(of, "frames");
    assert!(clocks(&right) < clocks(&wrong), "{wrong:#}{right:#}");
}

#[test]
fn ports_that_a_hex_switches_share_a_lane_to_its_processor() {
    let test = "ports_that_a_hex_switches_share_a_lane_to_its_processor";
    let Some(tried) = have(test, &["tc"])
        .then(|| tried(test, "shared-lane"))
        .flatten()
    else {
        return;
    };
    let ifb = output(&tried, "chip", "ip link add name try type ifb");
    drop(tried);
    if !ifb.status.success() {
        lab::testing::skip(test, "the kernel has no ifb");
        return;
    }
    let Some([wrong, right]) = measured(test, "shared-lane") else {
        return;
    };
    let sent = |of: &Value, name| flow(of, name)[0];
    for measured in [&wrong, &right] {
        for name in ["south to db1", "north to db2"] {
            assert_eq!(sent(measured, name), 8_000, "{measured:#}");
        }
    }
    // Frames offered to a lane in a direction: carried plus lost.
    let offered = |of: &Value, lane: usize, way: &str| {
        let way = &of["lanes"][lane][way];
        number(way, "frames") + number(way, "lost")
    };
    assert_eq!(wrong["switched"], serde_json::json!(["ether1", "ether2"]));
    assert_eq!(
        wrong["lanes"][0]["ports"],
        serde_json::json!(["ether1", "ether2"])
    );
    // Frames lost on the way to the processor do not reach the databases' lane.
    assert!(offered(&wrong, 1, "up") >= 16_000, "{wrong:#}");
    assert!(offered(&wrong, 1, "down") < 1_000, "{wrong:#}");
    assert!(offered(&wrong, 0, "up") < 1_000, "{wrong:#}");

    assert_eq!(right["switched"], serde_json::json!([]));
    assert_eq!(right["reasons"]["ether1"], "hw=no");
    for (lane, ports) in [["ether1", "ether3"], ["ether2", "ether4"]]
        .iter()
        .enumerate()
    {
        assert_eq!(right["lanes"][lane]["ports"], serde_json::json!(ports));
        let up = offered(&right, lane, "up");
        assert!((8_000..9_000).contains(&up), "{right:#}");
    }
}

#[test]
fn a_simple_queue_on_a_bridge_port_misses_routed_packets_and_a_tree_does_not() {
    let test = "a_simple_queue_on_a_bridge_port_misses_routed_packets_and_a_tree_does_not";
    if tried(test, "transparent-queuing").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "transparent-queuing") else {
        return;
    };
    let names = ["internet to guest", "server to guest"];
    for (measured, name) in [&wrong, &right].into_iter().zip(names) {
        assert_eq!(flow(measured, name)[0], 4_000, "{measured:#}");
    }
    // The queue does not limit routed packets.
    let [sent, routed] = flow(&wrong, names[0]);
    assert!(routed * 10 > sent * 9, "{wrong:#}");
    // Bridged packets pass the queue by `use-ip-firewall`: half of them are lost.
    let [sent, bridged] = flow(&wrong, names[1]);
    assert!(bridged > 500 && bridged * 4 < sent * 3, "{wrong:#}");
    // Both flows together send four times the permitted rate, and most packets are lost.
    let together: u64 = names.iter().map(|name| flow(&right, name)[1]).sum();
    assert!(together > 500 && together < 4_000, "{right:#}");
}

#[test]
fn two_cables_on_one_lane_of_a_hex_share_it_and_another_port_does_not() {
    let test = "two_cables_on_one_lane_of_a_hex_share_it_and_another_port_does_not";
    let Some(tried) = have(test, &["tc"])
        .then(|| tried(test, "one-lane"))
        .flatten()
    else {
        return;
    };
    let ifb = output(&tried, "chip", "ip link add name try type ifb");
    drop(tried);
    if !ifb.status.success() {
        lab::testing::skip(test, "the kernel has no ifb");
        return;
    }
    let Some([wrong, right]) = measured(test, "one-lane") else {
        return;
    };
    let offered = |of: &Value, lane: usize| {
        let way = &of["lanes"][lane]["down"];
        number(way, "frames") + number(way, "lost")
    };
    // ether2 and ether4 are on the second lane: it should carry both directions of the exchange.
    assert!(offered(&wrong, 1) >= 15_000, "{wrong:#}");
    assert!(
        number(&wrong["lanes"][1]["down"], "lost") > 1_000,
        "{wrong:#}"
    );
    for lane in 0..2 {
        let down = offered(&right, lane);
        assert!((8_000..9_000).contains(&down), "{right:#}");
    }
    let arrived = |of: &Value| -> u64 {
        let names = ["south to database", "database to south"];
        names.iter().map(|name| flow(of, name)[1]).sum()
    };
    assert!(arrived(&right) > arrived(&wrong), "{wrong:#}{right:#}");
}

/// Clocks of an activity for each received frame.
fn clocks(of: &Value, on: &str) -> u64 {
    number(&of["clocks"], on) / number(of, "frames").max(1)
}

#[test]
fn layer7_for_names_of_sites_costs_clocks_and_matches_nothing() {
    let test = "layer7_for_names_of_sites_costs_clocks_and_matches_nothing";
    if tried(test, "layer7").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "layer7") else {
        return;
    };
    for measured in [&wrong, &right] {
        let [sent, received] = flow(measured, "client to internet");
        assert_eq!(sent, 20_000, "{measured:#}");
        assert!(received > 0, "{measured:#}");
        assert_eq!(number(measured, "filtered"), 0, "{measured:#}");
    }
    assert!(number(&wrong["clocks"], "l7-matcher") > 0, "{wrong:#}");
    // Rules for TCP to port 443 look at no other packet.
    let searched = number(&right["clocks"], "l7-matcher");
    assert!(
        searched < number(&wrong["clocks"], "l7-matcher"),
        "{wrong:#}{right:#}"
    );
}

#[test]
fn rules_on_payload_see_nothing_behind_fasttrack_unless_it_waits_for_the_first_bytes() {
    let test = "rules_on_payload_see_nothing_behind_fasttrack_unless_it_waits_for_the_first_bytes";
    if tried(test, "fasttrack-blind").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "fasttrack-blind") else {
        return;
    };
    assert_eq!(number(&wrong, "filtered"), 0, "{wrong:#}");
    let matched = number(&right, "filtered");
    assert!((1..100).contains(&matched), "{right:#}");
}

#[test]
fn masquerade_keeps_packets_out_of_ipsec_and_untracked_packets_pass() {
    let test = "masquerade_keeps_packets_out_of_ipsec_and_untracked_packets_pass";
    if tried(test, "nat-before-ipsec").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "nat-before-ipsec") else {
        return;
    };
    assert_eq!(flow(&wrong, "client to server"), [0, 0], "{wrong:#}");
    let [sent, received] = flow(&right, "client to server");
    assert!(sent == 500 && received > 400, "{right:#}");
}

#[test]
fn fasttrack_takes_the_firewall_off_established_connections() {
    let test = "fasttrack_takes_the_firewall_off_established_connections";
    if tried(test, "fasttrack").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "fasttrack") else {
        return;
    };
    for measured in [&wrong, &right] {
        let [sent, received] = flow(measured, "client to internet");
        assert!(sent == 40_000 && received > 0, "{measured:#}");
    }
    let [_, received] = flow(&wrong, "client to internet");
    assert!(number(&wrong, "filtered") >= received, "{wrong:#}");
    assert!(number(&right, "filtered") < 1_000, "{right:#}");
    assert!(
        clocks(&right, "firewall") < clocks(&wrong, "firewall"),
        "{wrong:#}{right:#}"
    );
}

#[test]
fn a_queue_behind_fasttrack_limits_nothing_and_accepted_traffic_is_limited() {
    let test = "a_queue_behind_fasttrack_limits_nothing_and_accepted_traffic_is_limited";
    if tried(test, "blind-queue").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "blind-queue") else {
        return;
    };
    let [sent, received] = flow(&wrong, "client to internet");
    assert!(received * 10 > sent * 9, "{wrong:#}");
    // Twice the permitted rate is sent.
    let [sent, received] = flow(&right, "client to internet");
    assert!(received > 500 && received * 4 < sent * 3, "{right:#}");
}

#[test]
fn a_tunnel_with_an_old_local_address_is_dead_and_one_without_works() {
    let test = "a_tunnel_with_an_old_local_address_is_dead_and_one_without_works";
    if tried(test, "vpn-wan-change").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "vpn-wan-change") else {
        return;
    };
    assert_eq!(flow(&wrong, "client to server"), [0, 0], "{wrong:#}");
    let [sent, received] = flow(&right, "client to server");
    assert!(sent == 500 && received > 400, "{right:#}");
}

#[test]
fn a_dhcp_client_on_a_port_of_a_bridge_hears_nothing_and_off_the_bridge_it_binds() {
    let test = "a_dhcp_client_on_a_port_of_a_bridge_hears_nothing_and_off_the_bridge_it_binds";
    if !have(test, &["dnsmasq"]) || tried(test, "dhcp-on-port").is_none() {
        return;
    }
    let Some([wrong, right]) = measured(test, "dhcp-on-port") else {
        return;
    };
    assert_eq!(flow(&wrong, "client to internet"), [0, 0], "{wrong:#}");
    let [sent, received] = flow(&right, "client to internet");
    assert!(sent == 200 && received > 150, "{right:#}");
}
