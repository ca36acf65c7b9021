//! Checks of the tunnels to the far router.

use super::Everyday;
use crate::world::{Router, shell, until};

/// Returns the bytes that all security associations of a router have carried.
fn encrypted(router: &Router) -> u64 {
    let pairs = router.rows("/ip/ipsec/installed-sa/print");
    let bytes = pairs
        .iter()
        .filter_map(|pair| pair["current-bytes"].as_str());
    bytes.filter_map(|bytes| bytes.parse::<u64>().ok()).sum()
}

/// Number of flows that a check sends through a tunnel, so that each worker gets some.
const FLOWS: u8 = 12;

/// Sends one echo request in each of [`FLOWS`] flows; all must be answered.
fn ping_by_many_flows(everyday: &Everyday, host: &str, to: &str) {
    let ping = format!("ping -q -c 1 -W 5 {to} >/dev/null");
    let script = format!("for flow in $(seq {FLOWS}); do {ping}; done");
    shell(&everyday.lab, host, &script);
}

/// Sends the longest echo requests that fit into one Ethernet frame of 1,500 bytes.
const WHOLE: &str = "ping -q -c 3 -i 0.01 -W 5 -s 1472 -M do";

pub(super) fn eoip_carries_whole_frames_encrypted(everyday: &Everyday) {
    let office = everyday.address_of("office");
    assert!(
        office.starts_with("192.168.88."),
        "a lease of the LAN: {office}"
    );
    let before = encrypted(everyday.router());

    everyday.run("client", &format!("{WHOLE} {office}"));
    everyday.run(
        "office",
        "curl -sS -m 30 -o /dev/null http://198.51.100.80/long",
    );

    let carried = encrypted(everyday.router()) - before;
    assert!(carried > 2_000_000, "{carried} bytes of it were encrypted");
    let policies = everyday
        .router()
        .rows("/ip/ipsec/policy/print where dynamic");
    assert_eq!(policies.len(), 1, "{policies:#?}");
}

pub(super) fn ikev2_carries_between_lan_and_branch(everyday: &Everyday) {
    let before = encrypted(everyday.router());

    ping_by_many_flows(everyday, "client", "-s 1000 10.20.0.10");
    let client = everyday.address_of("client");
    ping_by_many_flows(everyday, "branch", &format!("-s 1000 {client}"));

    let carried = encrypted(everyday.router()) - before;
    let least = u64::from(FLOWS) * 4 * 1000;
    assert!(carried > least, "{carried} bytes of it were encrypted");
    let policies = everyday.router().rows("/ip/ipsec/policy/print");
    let policy = policies.iter().find(|policy| policy["peer"] == "branch");
    let state = policy.map(|policy| &policy["ph2-state"]);
    assert!(
        state.is_some_and(|state| state == "established"),
        "{policies:#?}"
    );
}

pub(super) fn wireguard_carries_to_the_far_router(everyday: &Everyday) {
    let menu = "/interface/wireguard/peers/print";
    let sent = || {
        everyday
            .router()
            .number("/interface/print stats", "wireguard1", "tx-byte")
    };
    let before = sent();

    ping_by_many_flows(everyday, "client", "-s 1392 -M do 10.9.0.2");

    assert!(sent() > before + u64::from(FLOWS) * 1392);
    assert_ne!(everyday.router().value(menu, "far", "last-handshake"), "");
    let endpoint = everyday.far.value(menu, "home", "current-endpoint-address");
    assert_eq!(endpoint, "203.0.113.100");
}

/// Checks that a start with all tunnels and leases logs no errors and warnings about them. Before the first start, the
/// router has an IPsec peer without identity until its certificate exists.
pub(super) fn a_start_logs_no_errors_of_tunnels_and_leases(everyday: &Everyday) {
    let rows = everyday.router().rows("/log/print");
    assert!(!rows.is_empty(), "the log has lines");
    let is_bad = |row: &&serde_json::Value| {
        let topics: Vec<_> = row["topics"]
            .as_str()
            .unwrap_or_default()
            .split(',')
            .collect();
        let has = |names: &[&str]| topics.iter().any(|topic| names.contains(topic));
        has(&["ipsec", "wireguard", "dhcp"]) && has(&["error", "critical", "warning"])
    };
    let is_complete = |row: &serde_json::Value| {
        let message = row["message"].as_str().unwrap_or_default();
        message.starts_with("ip ipsec identity added")
    };
    let begin = rows.iter().rposition(is_complete).unwrap_or(0);
    let bad: Vec<_> = rows.iter().skip(begin).filter(is_bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

pub(super) fn tunnels_and_ipsec_show_what_routeros_shows(everyday: &Everyday) {
    let router = everyday.router();
    let eoip = |name: &str| router.value("/interface/eoip/print", "eoip-office", name);
    assert_eq!(eoip("l2mtu"), "65535");
    assert_eq!(eoip("current-remote-address"), "192.0.2.2");
    let refusal = router.command("/interface/eoip/set eoip-office allow-fast-path=yes");
    assert!(!refusal.status.success(), "a secret beside the fast path");
    let statistics = router.rows("/ip/ipsec/statistics/print");
    let clear = statistics.first().map(|row| &row["in-template-mismatches"]);
    assert!(
        clear.is_some_and(|count| count.is_string()),
        "{statistics:#?}"
    );
    // The office uses IKEv1, the branch IKEv2. Ends that begin at once delete the second SA within seconds.
    until("one IKE SA of each remains", || {
        let peers = router.rows("/ip/ipsec/active-peers/print where state=established");
        peers.len() <= 2
    });
}
