//! PPP sessions that bridge (BCP): two routers join two Ethernet networks by a session, with full frames by multilink
//! framing, with and without encryption.

use crate::carriers::{Carrier, L2TP, PPPOE, PPTP, SSTP, encoding, no_drops, reaches};
use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Router, have, lab, shell, until};

const BRIDGE: &str = "/interface bridge add name=lan protocol-mode=rstp\n\
    /interface bridge port add bridge=lan interface=ether1\n";

/// Returns the row of a bridge's port for a session.
fn port(router: &Router, session: &str) -> Option<serde_json::Value> {
    let rows = router.rows("/interface/bridge/port/print");
    rows.into_iter().find(|row| row["interface"] == session)
}

/// Joins two Ethernet networks by a session.
fn a_session_is_a_port(test: &str, carrier: &Carrier) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    // Both hosts are in one network.
    shell(&lab, "two", "ip address add 10.1.0.3/24 dev eth0");
    let profile =
        "/ppp profile set home bridge=lan bridge-path-cost=99 bridge-port-priority=0x40\n";
    let server = [BRIDGE, &carrier.server_config("mrru=1600"), profile].concat();
    let server = start(&lab, "right", &server, None);
    carrier.begin(&server);
    let profile = "/ppp profile add name=site bridge=lan\n";
    let client = carrier.client_config("profile=site mrru=1600");
    let client = start(&lab, "left", &[BRIDGE, profile, &client].concat(), None);
    let reaches = |more: &str| reaches(&lab, more, "10.1.0.3");
    let session = format!("<{}-anna>", carrier.service);
    until("a frame gets through", || reaches(""));
    until("a frame of full size gets through", || {
        reaches("-s 1472 -M do")
    });
    let row = port(&server, &session).expect("a dynamic port");
    assert_eq!(row["path-cost"], "99", "{row}");
    assert!(port(&client, &carrier.client()).is_some());
    // BPDUs pass: one of the bridges is the root of both.
    until("one end is the root", || {
        let is_root = |router: &Router| {
            let said = router
                .exec(":put ([/interface/bridge/monitor lan once as-value]->\"root-bridge\")");
            said.trim() == "yes"
        };
        is_root(&server) != is_root(&client)
    });
    no_drops(&client, &["ppp-bridged", "ppp-fragment", "ppp-malformed"]);

    server.exec("/ppp/profile/set home use-encryption=required");
    client.exec("/ppp/profile/set site use-encryption=yes");
    server.exec("/ppp/active/remove [find]");
    until("the session is encrypted", || {
        encoding(&server) == carrier.encoding
    });
    until("an encrypted frame of full size gets through", || {
        reaches("-s 1472 -M do")
    });
    carrier.set_client(&client, "disabled=yes");
    until("the port is gone", || port(&server, &session).is_none());
    assert!(!reaches(""));
}

#[test]
fn a_session_is_a_port_of_the_bridges_at_both_ends() {
    let test = "a_session_is_a_port_of_the_bridges_at_both_ends";
    a_session_is_a_port(test, &PPPOE);
}

#[test]
fn a_session_of_l2tp_is_a_port_of_the_bridges_at_both_ends() {
    let test = "a_session_of_l2tp_is_a_port_of_the_bridges_at_both_ends";
    a_session_is_a_port(test, &L2TP);
}

#[test]
fn a_session_of_pptp_is_a_port_of_the_bridges_at_both_ends() {
    let test = "a_session_of_pptp_is_a_port_of_the_bridges_at_both_ends";
    a_session_is_a_port(test, &PPTP);
}

#[test]
fn a_session_of_sstp_is_a_port_of_the_bridges_at_both_ends() {
    let test = "a_session_of_sstp_is_a_port_of_the_bridges_at_both_ends";
    a_session_is_a_port(test, &SSTP);
}
