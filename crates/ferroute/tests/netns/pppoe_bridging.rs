//! PPPoE sessions that bridge (BCP): two routers join two Ethernet networks by a session, with full frames by multilink
//! framing, with and without encryption.

use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Router, have, lab, shell, until, works};

const SERVER: &str = "/system identity set name=bras\n\
    /interface bridge add name=lan protocol-mode=rstp\n\
    /interface bridge port add bridge=lan interface=ether1\n\
    /ppp profile add name=home bridge=lan bridge-path-cost=99 bridge-port-priority=0x40\n\
    /ppp secret add name=anna password=geheim profile=home service=pppoe\n\
    /interface pppoe-server server add service-name=isp interface=ether2 default-profile=home mrru=1600 disabled=no\n";
const CLIENT: &str = "/interface bridge add name=lan protocol-mode=rstp\n\
    /interface bridge port add bridge=lan interface=ether1\n\
    /ppp profile add name=site bridge=lan\n\
    /interface pppoe-client add name=pppoe-out1 interface=ether2 user=anna password=geheim profile=site mrru=1600 \
    disabled=no\n";

/// Returns the row of a bridge's port for a session.
fn port(router: &Router, session: &str) -> Option<serde_json::Value> {
    let rows = router.rows("/interface/bridge/port/print");
    rows.into_iter().find(|row| row["interface"] == session)
}

#[test]
fn a_session_is_a_port_of_the_bridges_at_both_ends() {
    let test = "a_session_is_a_port_of_the_bridges_at_both_ends";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    // Both hosts are in one network.
    shell(&lab, "two", "ip address add 10.1.0.3/24 dev eth0");
    let server = start(&lab, "right", SERVER, None);
    let client = start(&lab, "left", CLIENT, None);
    let reaches = |more: &str| works(&lab, "one", &format!("ping -q -c 1 -W 1{more} 10.1.0.3"));
    until("a frame gets through", || reaches(""));
    until("a frame of full size gets through", || {
        reaches(" -s 1472 -M do")
    });
    let row = port(&server, "<pppoe-anna>").expect("a dynamic port");
    assert_eq!(row["path-cost"], "99", "{row}");
    assert!(port(&client, "pppoe-out1").is_some());
    // BPDUs pass: one of the bridges is the root of both.
    until("one end is the root", || {
        let is_root = |router: &Router| {
            let said = router
                .exec(":put ([/interface/bridge/monitor lan once as-value]->\"root-bridge\")");
            said.trim() == "yes"
        };
        is_root(&server) != is_root(&client)
    });
    let said = client.exec("/tool/drop/print without-paging");
    for loss in ["ppp-bridged", "ppp-fragment", "ppp-malformed"] {
        assert!(!said.contains(loss), "{said}");
    }

    server.exec("/ppp/profile/set home use-encryption=required");
    client.exec("/ppp/profile/set site use-encryption=yes");
    server.exec("/ppp/active/remove [find]");
    until("the session is encrypted", || {
        let rows = server.rows("/ppp/active/print");
        rows.first()
            .is_some_and(|row| row["encoding"] == "MPPE128 stateless")
    });
    until("an encrypted frame of full size gets through", || {
        reaches(" -s 1472 -M do")
    });
    client.exec("/interface/pppoe-client/set pppoe-out1 disabled=yes");
    until("the port is gone", || {
        port(&server, "<pppoe-anna>").is_none()
    });
    assert!(!reaches(""));
}
