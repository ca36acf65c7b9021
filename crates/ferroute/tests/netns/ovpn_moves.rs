//! OpenVPN's clients move and leave, and a server takes all packets of a client.
//!
//! ```text
//! one ── left (server) ── right (client) ── two
//! ```

use crate::ovpn::{dial, no_drops, ready, serve};
use crate::pppoe::start;
use crate::world::{Folder, run, shell, until, works};

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
        "ip address add 10.1.0.9/24 dev eth0; ip address del 10.1.0.2/24 dev eth0",
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
        /ip firewall nat add chain=srcnat action=masquerade out-interface=ovpn-out1\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=192.0.2.1 protocol=udp user=anna password=geheim \
        cipher=aes256-gcm disabled=no\n";
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
        !routes.contains("128.0.0.0/1") && works(&lab, "two", "ping -q -c 1 -W 1 10.1.0.1")
    });
}
