//! OpenVPN by TCP: OpenVPN 2.6 as client and as server of ferroute, and connections without a session.
//!
//! ```text
//! one ── left (server or client)
//! ```

use crate::ovpn::{UP, dial, no_drops, ready, serve, settings};
use crate::pppoe::start;
use crate::world::{Folder, Server, run, shell, until, works};

#[test]
fn openvpn_dials_in_by_tcp_with_each_cipher_and_renews_its_keys_without_loss() {
    let test = "openvpn_dials_in_by_tcp_with_each_cipher_and_renews_its_keys_without_loss";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "keepalive-timeout=3");
    server.exec("/interface/ovpn-server/server/set ovpn1 protocol=tcp");
    for options in [
        "",
        "--data-ciphers AES-128-CBC --auth SHA256",
        "--data-ciphers AES-128-GCM --tls-version-max 1.2",
    ] {
        let options = format!("--proto tcp4-client {options}");
        let client = dial(&lab, &folder, &authority, &options);
        assert!(
            works(&lab, "one", "ping -q -c 1 -W 2 10.64.0.1"),
            "{options}: {}",
            server.log()
        );
        assert!(works(&lab, "one", "ping -q -c 300 -i 0.004 -W 2 10.64.0.1"));
        let long = "ping -q -c 1 -W 2 -s 1472 -M do 10.64.0.1";
        assert!(works(&lab, "one", long), "{options}");
        let row = &server.rows("/ppp/active/print")[0];
        assert_eq!(
            (&row["name"], &row["caller-id"]),
            (&"anna".into(), &"10.1.0.2".into())
        );
        no_drops(&server);
        drop(client);
        until("the session ends with its connection", || {
            server.rows("/ppp/active/print").is_empty()
        });
    }
    let _client = dial(
        &lab,
        &folder,
        &authority,
        "--proto tcp4-client --reneg-sec 4",
    );
    let ping = run(&lab, "one", "ping -q -c 1500 -i 0.01 -W 2 10.64.0.1");
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    // Pings of the data channel keep a quiet session.
    let ping = run(&lab, "one", "ping -q -c 3 -i 7 -W 2 10.64.0.1");
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    assert_eq!(server.rows("/ppp/active/print").len(), 1);
    no_drops(&server);
}

/// Opens connections, sends garbage by some, and keeps all open: `hold.py ADDRESS COUNT`.
const HOLD: &str = r#"
import socket, sys, time
held = []
for number in range(int(sys.argv[2])):
    one = socket.create_connection((sys.argv[1], 1194))
    if number % 4 == 1:
        one.sendall(b"\x00\x0e\x38" + bytes(13))
    elif number % 4 == 2:
        one.sendall(b"GET / HTTP/1.0\r\n\r\n")
    held.append(one)
print("held", flush=True)
time.sleep(600)
"#;

#[test]
fn connections_without_a_session_give_way_to_honest_clients() {
    let test = "connections_without_a_session_give_way_to_honest_clients";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "");
    server.exec("/interface/ovpn-server/server/set ovpn1 protocol=tcp");
    let script = folder.file("hold.py");
    std::fs::write(&script, HOLD).expect("a folder of our own");
    let line = format!("python3 {} 10.1.0.1 200", script.display());
    let _held = Server::start(&lab, "one", &line, "held");
    let drops = || server.exec("/tool/drop/print without-paging");
    until("connections give way, and garbage is counted", || {
        let drops = drops();
        drops.contains("ovpn-session-limit") && drops.contains("ovpn-malformed")
    });
    let _client = dial(&lab, &folder, &authority, "--proto tcp4-client");
    assert!(works(&lab, "one", "ping -q -c 3 -W 2 10.64.0.1"));
    let sockets = run(&lab, "left", "ss -Htn state established sport = :1194");
    assert!(sockets.lines().count() <= 66, "{sockets}");
}

#[test]
fn the_client_dials_into_openvpn_by_tcp_and_comes_back_after_its_kill() {
    let test = "the_client_dials_into_openvpn_by_tcp_and_comes_back_after_its_kill";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let more = "dev tun\ntopology subnet\nproto tcp4-server\n";
    let line = settings(&lab, &folder, more);
    let server = Server::start(&lab, "one", &line, UP);
    let config = "/ip address add address=10.1.0.1/24 interface=ether1\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=10.1.0.2 protocol=tcp user=anna password=geheim \
        cipher=aes256-gcm auth=sha1 disabled=no\n";
    let client = start(&lab, "left", config, None);
    let answers = || works(&lab, "one", "ping -q -c 1 -W 1 10.8.0.2");
    until(&format!("the client connects: {}", client.log()), answers);
    assert!(works(&lab, "one", "ping -q -c 300 -i 0.004 -W 2 10.8.0.2"));
    assert!(works(
        &lab,
        "one",
        "ping -q -c 1 -W 2 -s 1472 -M do 10.8.0.2"
    ));
    no_drops(&client);
    drop(server);
    until("the client notices the end", || {
        let rows = client.rows("/interface/ovpn-client/print");
        rows[0]["running"] == "false"
    });
    let _server = Server::start(&lab, "one", &line, UP);
    until("the client comes back", answers);
    client.exec("/interface/ovpn-client/disable ovpn-out1");
    until("the connection ends", || {
        shell(&lab, "left", "ss -Htn state established dport = :1194").is_empty()
    });
}
