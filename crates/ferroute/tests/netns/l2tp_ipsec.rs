//! L2TP in IPsec transport mode (RFC 3193) between two ferroutes: `use-ipsec` and `ipsec-secret` make peers and
//! policies.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use lab::{Lab, Layout};

use crate::ipsec::{SITES, default, host, link};
use crate::l2tp::{CLIENT, SERVER};
use crate::pppoe::start;
use crate::world::{Folder, Router, have, lab, shell, until, works};

fn server_config() -> String {
    let protected = "/interface l2tp-server server set use-ipsec=required ipsec-secret=shared\n";
    [SERVER, protected].concat()
}

fn client_config() -> String {
    CLIENT.replace(
        "name=l2tp-out1",
        "name=l2tp-out1 use-ipsec=yes ipsec-secret=shared",
    )
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1{more} 10.2.0.2"))
}

fn drops(router: &Router) -> String {
    router.exec("/tool/drop/print without-paging")
}

#[test]
fn a_client_with_a_secret_is_protected_and_comes_back_after_a_kill_of_either_end() {
    let test = "a_client_with_a_secret_is_protected_and_comes_back_after_a_kill_of_either_end";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folders = [Folder::new(), Folder::new()];
    let states = folders.each_ref().map(|folder| folder.file("state"));
    let server = start(&lab, "right", &server_config(), Some(&states[1]));
    let client = start(&lab, "left", &client_config(), Some(&states[0]));
    until("a packet gets through", || reaches(&lab, ""));
    for router in [&server, &client] {
        let pairs = router.rows("/ip/ipsec/installed-sa/print");
        assert!(pairs.len() >= 2, "{pairs:?}");
        let peers = router.rows("/ip/ipsec/peer/print");
        let made = peers.iter().filter(|peer| peer["dynamic"] == "true");
        let names: Vec<_> = made.map(|peer| peer["name"].clone()).collect();
        let expected = match std::ptr::eq(router, &raw const server) {
            true => "l2tp-in-server",
            false => "l2tp-out1",
        };
        assert_eq!(names, [expected], "{peers:?}");
    }
    assert!(reaches(&lab, " -s 1422 -M do"), "{}", client.log());
    let before = drops(&server);
    assert!(!before.contains("l2tp-unprotected"), "{before}");

    client.kill();
    let client = start(&lab, "left", "", Some(&states[0]));
    until("the session is back after the client was killed", || {
        reaches(&lab, "")
    });
    server.kill();
    let server = start(&lab, "right", "", Some(&states[1]));
    until("the session is back after the server was killed", || {
        reaches(&lab, "")
    });

    // Without its policy the client's session carries nothing in clear, and the server accepts nothing in clear.
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=no");
    until("the server refuses unprotected requests", || {
        drops(&server).contains("l2tp-unprotected")
    });
    assert!(!reaches(&lab, ""));
    until("the keepalive of the server ends the session", || {
        server.rows("/ppp/active/print").is_empty()
    });
    let failures = || client.log().matches("peer is not responding").count();
    let before = failures();
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=yes ipsec-secret=other");
    until("another secret opens nothing", || failures() > before);
    assert!(server.rows("/ppp/active/print").is_empty());
    server.exec("/interface/l2tp-server/server/set use-ipsec=yes");
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=no");
    until("use-ipsec=yes accepts both", || reaches(&lab, ""));
}

#[test]
fn a_client_without_its_secret_stays_down_and_says_why() {
    let test = "a_client_without_its_secret_stays_down_and_says_why";
    let Some(lab) = lab(test, &SITES) else {
        return;
    };
    let config = CLIENT.replace("name=l2tp-out1", "name=l2tp-out1 use-ipsec=yes");
    let client = start(&lab, "left", &config, None);
    let said = "l2tp-out1: use-ipsec=yes needs ipsec-secret";
    until("the client says what is missing", || {
        client.log().contains(said)
    });
}

#[test]
fn a_client_comes_back_after_sleep_and_with_another_address() {
    let test = "a_client_comes_back_after_sleep_and_with_another_address";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let settings =
        "/interface l2tp-server server set keepalive-timeout=5 one-session-per-host=yes\n";
    let server = start(&lab, "right", &[&server_config(), settings].concat(), None);
    let folder = Folder::new();
    let state = folder.file("state");
    let client = start(&lab, "left", &client_config(), Some(&state));
    until("a packet gets through", || reaches(&lab, ""));
    let callers = || -> Vec<_> {
        let rows = server.rows("/ppp/active/print");
        rows.iter()
            .map(|row| row["caller-id"].to_string())
            .collect()
    };

    // The client's address changes under the session. Another IKE SA and another tunnel replace the old ones.
    client.exec("/ip/address/set [find interface=ether2] address=192.0.2.11/24");
    until("a packet gets through from another address", || {
        reaches(&lab, "")
    });
    until("the server has cleared the old session", || {
        callers() == ["\"192.0.2.11\""]
    });
    let peers = client.rows("/ip/ipsec/active-peers/print");
    let local = peers.iter().map(|peer| peer["local-address"].to_string());
    assert!(
        local.into_iter().any(|local| local.contains("192.0.2.11")),
        "{peers:?}"
    );

    // Both ends miss each other for longer than their keepalives.
    shell(&lab, "left", "ip link set ether2 down");
    until("the server clears the session of a silent client", || {
        callers().is_empty()
    });
    until("the client notices the silence", || {
        client.value("/interface/l2tp-client/print", "", "running") == "false"
    });
    shell(&lab, "left", "ip link set ether2 up");
    until("the session is back", || reaches(&lab, ""));
    until("the server has one session", || {
        callers() == ["\"192.0.2.11\""]
    });

    // A session that the server still has is replaced by the client's next one.
    server.exec("/interface/l2tp-server/server/set keepalive-timeout=300");
    client
        .exec("/interface/l2tp-client/disable l2tp-out1; /interface/l2tp-client/enable l2tp-out1");
    until("the session is back", || reaches(&lab, ""));
    let number = || server.value("/ppp/active/print", "", "session-id");
    let before = number();
    client.kill();
    let _client = start(&lab, "left", "", Some(&state));
    until("another session replaces the old one", || {
        reaches(&lab, "") && number() != before
    });
    assert_eq!(callers().len(), 1);
}

const BEHIND: Layout = Layout {
    name: "l2tp",
    summary: "a client behind a translator of addresses, and a server with a public address",
    hosts: &[
        host("one", &[default("10.1.0.1")]),
        host("two", &[default("10.2.0.1")]),
        host("left", &[]),
        host("nat", &[]),
        host("right", &[]),
    ],
    links: &[
        link(("one", "eth0", &["10.1.0.2/24"]), ("left", "ether1", &[])),
        link(("left", "ether2", &[]), ("nat", "in", &["192.168.1.1/24"])),
        link(("nat", "out", &["192.0.2.1/24"]), ("right", "ether2", &[])),
        link(("two", "eth0", &["10.2.0.2/24"]), ("right", "ether1", &[])),
    ],
    config: "",
};

#[test]
fn a_client_behind_nat_connects_with_and_without_ipsec() {
    let test = "a_client_behind_nat_connects_with_and_without_ipsec";
    let Some(lab) = have(test, &["ping", "nft"])
        .then(|| lab(test, &BEHIND))
        .flatten()
    else {
        return;
    };
    // The translator chooses another port for L2TP.
    shell(
        &lab,
        "nat",
        "echo 1 > /proc/sys/net/ipv4/ip_forward
         nft add table ip t; nft 'add chain ip t p { type nat hook postrouting priority 100; }'
         nft add rule ip t p oifname out udp sport 1701 masquerade to :40000-40100
         nft add rule ip t p oifname out masquerade",
    );
    let inside = CLIENT.replace("192.0.2.1/24", "192.168.1.2/24")
        + "/ip route add dst-address=192.0.2.0/24 gateway=192.168.1.1\n";
    let optional = "/interface l2tp-server server set use-ipsec=yes ipsec-secret=shared\n";
    let server = start(&lab, "right", &[SERVER, optional].concat(), None);
    let client = start(&lab, "left", &inside, None);
    until("a packet gets through", || reaches(&lab, ""));
    let row = &server.rows("/ppp/active/print")[0];
    assert_eq!(row["caller-id"], "192.0.2.1");
    client.exec("/interface/l2tp-client/disable l2tp-out1");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
    client
        .exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=yes ipsec-secret=shared disabled=no");
    until("a packet gets through IPsec", || reaches(&lab, ""));
    let peers = server.rows("/ip/ipsec/active-peers/print where natt-peer");
    assert!(!peers.is_empty(), "a translator was seen");
    assert!(reaches(&lab, " -s 1422 -M do"), "{}", client.log());
}

/// Rules of a closed router: nothing enters from outside except answers.
const CLOSED: &str = "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether2 ipsec-policy=out,none\n\
    /ip firewall filter add chain=input action=accept connection-state=established,related\n\
    /ip firewall filter add chain=input action=drop in-interface=ether2 comment=last\n";
/// What L2TP/IPsec needs in front of the last rule; port 1701 only within IPsec.
const OPEN: [&str; 3] = [
    "protocol=udp dst-port=500,4500",
    "protocol=ipsec-esp",
    "protocol=udp dst-port=1701 ipsec-policy=in,ipsec",
];

fn names_blocked_server(router: &Router) -> bool {
    let rows = router.rows("/system/doctor/print");
    rows.iter().any(|row| row["rule"] == "l2tp-server-blocked")
}

/// Returns the packets that the last rule dropped.
fn dropped(router: &Router) -> u64 {
    let rows = router.rows("/ip/firewall/filter/print where comment=last");
    let packets = rows[0]["packets"].as_str().expect("a counter");
    packets.parse().expect("a number")
}

#[test]
fn a_server_behind_a_closed_firewall_is_named_and_serves_with_the_rules_that_the_doctor_asks_for() {
    let test = "a_server_behind_a_closed_firewall_is_named_and_serves_with_the_rules_that_the_doctor_asks_for";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let state = folder.file("state");
    let closed = [&server_config(), CLOSED].concat();
    let server = start(&lab, "right", &closed, Some(&state));
    let client = start(&lab, "left", &client_config(), None);
    assert!(names_blocked_server(&server));
    until("the firewall drops requests", || dropped(&server) > 0);
    for matcher in OPEN {
        let add = format!("/ip/firewall/filter/add chain=input action=accept {matcher}");
        server.exec(&format!("{add} place-before=[find comment=last]"));
    }
    assert!(!names_blocked_server(&server));
    until("a packet gets through", || reaches(&lab, ""));

    // In clear, port 1701 stays closed.
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=no");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
    let before = dropped(&server);
    until("the firewall drops requests in clear", || {
        dropped(&server) > before
    });
    assert!(server.rows("/ppp/active/print").is_empty());
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=yes");
    until("the session is back", || reaches(&lab, ""));

    server.kill();
    let server = start(&lab, "right", "", Some(&state));
    assert!(!names_blocked_server(&server));
    until("the session is back after a kill", || reaches(&lab, ""));
}
