//! OpenVPN's clients move and leave, a server takes all packets of a client, and sessions pass beside queues and
//! WireGuard.
//!
//! ```text
//! one ── left (server) ── right (client) ── two
//! ```

use crate::carriers::{OVPN_TCP, reaches};
use crate::ovpn::{dial, no_drops, ready, serve};
use crate::pppoe::start;
use crate::world::{Folder, Router, run, shell, until, works};

#[test]
fn a_client_that_moves_keeps_its_session_and_renews_its_keys_from_the_new_address() {
    let test = "a_client_that_moves_keeps_its_session_and_renews_its_keys_from_the_new_address";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "");
    let _client = dial(&lab, &folder, &authority, "--reneg-sec 6");
    assert!(works(&lab, "one", "ping -q -c 1 -W 2 10.64.0.1"));
    let before = server.rows("/ppp/active/print")[0]["session-id"].clone();
    shell(
        &lab,
        "one",
        "ip address del 10.1.0.2/24 dev eth0; ip address add 10.1.0.9/24 dev eth0",
    );
    until("the server follows", || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.64.0.1")
    });
    // Keys are renewed twice meanwhile.
    let ping = run(&lab, "one", "ping -q -c 1500 -i 0.01 -W 2 10.64.0.1");
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    let rows = server.rows("/ppp/active/print");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["session-id"], before, "{}", server.log());
    no_drops(&server);
}

#[test]
fn a_client_that_leaves_notifies_the_server() {
    let test = "a_client_that_leaves_notifies_the_server";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "keepalive-timeout=60");
    for options in ["", "--data-ciphers AES-128-CBC"] {
        let file = folder.file("pid");
        let options = format!(
            "{options} --explicit-exit-notify 1 --writepid {}",
            file.display()
        );
        let _client = dial(&lab, &folder, &authority, &options);
        assert_eq!(server.rows("/ppp/active/print").len(), 1);
        shell(
            &lab,
            "one",
            &format!("kill -TERM $(cat {})", file.display()),
        );
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        assert!(server.log().contains("closed by peer"), "{}", server.log());
    }
}

#[test]
fn a_server_redirects_all_packets_of_a_client_and_not_those_of_the_tunnel() {
    let test = "a_server_redirects_all_packets_of_a_client_and_not_those_of_the_tunnel";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, _) = serve(&lab, &folder, "redirect-gateway=def1");
    let config = "/ip address add address=10.2.0.1/24 interface=ether1\n\
        /ip address add address=192.0.2.2/24 interface=ether2\n\
        /ip route add dst-address=0.0.0.0/0 gateway=192.0.2.1\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=192.0.2.1 protocol=udp user=anna password=geheim \
        cipher=aes256-gcm disabled=no\n\
        /ip firewall nat add chain=srcnat action=masquerade out-interface=ovpn-out1\n";
    let client = start(&lab, "right", config, None);
    let count = || {
        let rows = client.rows("/interface/print stats where name=ovpn-out1");
        rows.first()
            .map(|row| row["tx-packet"].to_string())
            .unwrap_or_default()
    };
    until(
        &format!("routes lead to the tunnel: {}", client.log()),
        || {
            let routes = client.exec("/ip/route/print without-paging");
            routes.contains("128.0.0.0/1") && routes.contains("192.0.2.1/32")
        },
    );
    until("a packet gets through", || {
        works(&lab, "two", "ping -q -c 1 -W 1 10.1.0.2")
    });
    let before = count();
    assert!(works(&lab, "two", "ping -q -c 100 -i 0.004 -W 2 10.1.0.2"));
    assert_ne!(before, count());
    no_drops(&client);
    no_drops(&server);
    client.exec("/interface/ovpn-client/set ovpn-out1 route-nopull=yes");
    until("the routes are gone", || {
        let routes = client.exec("/ip/route/print without-paging");
        !routes.contains("128.0.0.0/1")
            && client
                .exec("/ping 10.64.0.1 count=1")
                .contains("received=1")
    });
}

/// Connects two routers by WireGuard, besides their link.
fn add_wireguard(routers: [&Router; 2]) {
    let keys = routers.map(|router| {
        router.exec("/interface/wireguard/add name=wg1 listen-port=13231");
        let key = router.exec(":put [/interface/wireguard/get wg1 public-key]");
        key.trim().to_owned()
    });
    for (at, router) in routers.into_iter().enumerate() {
        let (own, other) = (at + 1, 2 - at);
        router.exec(&format!(
            "/ip/address/add address=172.31.0.{own}/24 interface=wg1"
        ));
        router.exec(&format!(
            "/interface/wireguard/peers/add interface=wg1 public-key=\"{}\" endpoint-address=192.0.2.{other} \
             endpoint-port=13231 allowed-address=172.31.0.0/24",
            keys[other - 1]
        ));
    }
}

#[test]
fn sessions_of_openvpn_have_bindings_and_queues_beside_wireguard() {
    let test = "sessions_of_openvpn_have_bindings_and_queues_beside_wireguard";
    let Some(lab) = ready(test) else { return };
    let settings = "/interface ovpn-server add name=anna-in user=anna\n\
        /ppp profile set home rate-limit=10M/20M change-tcp-mss=yes\n";
    let server = OVPN_TCP.serve(&lab, settings);
    let client = OVPN_TCP.dial(&lab, "");
    add_wireguard([&client, &server]);
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    let row = &server.rows("/interface/ovpn-server/print")[0];
    assert_eq!(
        (&row["name"], &row["running"]),
        (&"anna-in".into(), &"true".into())
    );
    let queues = server.rows("/queue/simple/print");
    assert_eq!(queues[0]["max-limit"], "10000000/20000000", "{queues:?}");
    assert_eq!(queues[0]["target"], "anna-in", "{queues:?}");
    until("WireGuard connects", || {
        client
            .exec("/ping 172.31.0.2 count=1")
            .contains("received=1")
    });
    assert!(works(&lab, "one", "ping -q -c 600 -i 0.002 -W 2 10.2.0.2"));
    no_drops(&client);
    no_drops(&server);
}
