//! The data path of PPPoE sessions between two ferroutes: instruments, FastPath, packets beyond the MTU.

use crate::ipsec::SITES;
use crate::pppoe::{CLIENT, SERVER, start};
use crate::trace;
use crate::world::{Router, Server, have, lab, until, works};

/// Returns a property of an interface.
fn counter(router: &Router, interface: &str, property: &str) -> u64 {
    router.number("/interface/print stats-detail", interface, property)
}

#[test]
fn instruments_and_fast_path_know_sessions() {
    let test = "instruments_and_fast_path_know_sessions";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = start(&lab, "right", SERVER, None);
    let client = start(&lab, "left", CLIENT, None);
    let _ping = Server::start(&lab, "one", "ping -i 0.05 10.2.0.2", "bytes from");
    let user = "<pppoe-anna>";
    for (router, interface) in [(&client, "pppoe-out1"), (&server, user)] {
        let quick = format!("/tool/sniffer/quick interface=\"{interface}\" duration=1s");
        let lines = router.exec(&quick);
        for direction in [" rx ", " tx "] {
            let mut of_direction = lines.lines().filter(|line| line.contains(direction));
            let shown = of_direction.any(|line| line.contains("10.2.0.2") && line.contains("icmp"));
            assert!(shown, "{interface}{direction}:\n{lines}");
        }
        let torch = format!(
            "/tool/torch interface=\"{interface}\" src-address=0.0.0.0/0 ip-protocol=any duration=2s"
        );
        let flows = router.exec(&torch);
        let flow = flows.lines().find(|line| line.contains("icmp"));
        assert!(
            flow.is_some_and(|flow| !flow.contains(" 0bps")),
            "both directions of {interface}: {flows}"
        );
    }
    // Nothing but routing applies at the server.
    let fast = |property: &str| counter(&server, user, property);
    let before = ["fp-rx-packet", "fp-tx-packet"].map(fast);
    until("FastPath carries the session in both directions", || {
        fast("fp-rx-packet") > before[0] && fast("fp-tx-packet") > before[1]
    });
    let below = counter(&server, "ether2", "fp-tx-packet");
    assert!(
        below >= before[1],
        "the interface below counts, too: {below}"
    );
    assert_eq!(
        server
            .exec(":put [/ip/settings/get ipv4-fast-path-active]")
            .trim(),
        "true"
    );
    // The client's firewall has rules: its packets take the slow path, and a trace says so.
    assert_eq!(counter(&client, "pppoe-out1", "fp-rx-packet"), 0);
    let (_, traced) = trace::trace_more(&client, "ether1", "10.1.0.2:1000", "10.2.0.2:80", &[]);
    let path = traced["path"].as_str().unwrap_or_default();
    assert!(path.starts_with("slow"), "{traced}");
    let (_, traced) = trace::trace_more(&server, user, "10.64.0.99:1000", "10.2.0.2:80", &[]);
    assert_eq!(traced["path"], "fast", "{traced}");
    assert_eq!(traced["verdict"], "sent", "{traced}");
}

#[test]
fn packets_beyond_the_mtu_of_a_session_pass_in_multilink_fragments() {
    let test = "packets_beyond_the_mtu_of_a_session_pass_in_multilink_fragments";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = start(&lab, "right", &with_mrru(), None);
    let client = CLIENT.replace("name=pppoe-out1", "name=pppoe-out1 mrru=1600");
    let client = start(&lab, "left", &client, None);
    let reaches = |more: &str| works(&lab, "one", &format!("ping -q -c 1 -W 1{more} 10.2.0.2"));
    until("a packet gets through", || reaches(""));
    for bytes in [1, 1464, 1465, 1472] {
        until("a packet of any size passes whole", || {
            reaches(&format!(" -s {bytes} -M do"))
        });
    }
    for (router, interface) in [(&client, "pppoe-out1"), (&server, "<pppoe-anna>")] {
        assert_eq!(
            router.value("/interface/print", interface, "actual-mtu"),
            "1600"
        );
        // Multicast reports of the other end are dropped, too.
        let drops = router.exec("/tool/drop/print");
        assert!(!drops.contains("ppp-fragment"), "{drops}");
    }

    // Without MRRU of the other end nothing is framed.
    server
        .exec("/interface/pppoe-server/server/set [find] mrru=disabled; /ppp/active/remove [find]");
    until("the session is back", || {
        client.value("/interface/print", "pppoe-out1", "actual-mtu") == "1492" && reaches("")
    });
    assert!(!reaches(" -s 1465 -M do"));
}

/// Returns the configuration of a server with MRRU.
fn with_mrru() -> String {
    SERVER.replace("service-name=isp", "service-name=isp mrru=1600")
}
