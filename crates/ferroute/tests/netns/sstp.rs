//! SSTP between two ferroutes: bindings, queues, certificates, an HTTP proxy, and hostile senders.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use crate::carriers::{SSTP, no_drops, reaches};
use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Folder, Server, have, lab, run, until, works};

#[test]
fn sessions_of_sstp_have_bindings_and_queues() {
    let test = "sessions_of_sstp_have_bindings_and_queues";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let settings = "/interface sstp-server add name=anna-in user=anna\n\
        /ppp profile set home rate-limit=10M/20M change-tcp-mss=yes use-encryption=required\n";
    let server = SSTP.serve(&lab, settings);
    let client = SSTP.dial(&lab, "profile=default-encryption add-sni=yes");
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    let row = &server.rows("/interface/sstp-server/print")[0];
    assert_eq!(
        (&row["name"], &row["running"]),
        (&"anna-in".into(), &"true".into())
    );
    let queues = server.rows("/queue/simple/print");
    assert_eq!(queues[0]["max-limit"], "10000000/20000000", "{queues:?}");
    assert_eq!(queues[0]["target"], "anna-in", "{queues:?}");
    assert!(works(&lab, "one", "ping -q -c 600 -i 0.002 -W 2 10.2.0.2"));
    no_drops(&client, &["sstp", "stream-full"]);
    no_drops(&server, &["sstp", "stream-full"]);
    // Another certificate counts for new connections, and sessions go on.
    server.exec(
        "/certificate/add name=next common-name=next key-usage=digital-signature,tls-server key-size=prime256v1",
    );
    server.exec("/certificate/sign next");
    server.exec("/interface/sstp-server/server/set certificate=next");
    assert!(reaches(&lab, "", "10.2.0.2"), "{}", server.log());
    server.exec("/ppp/active/remove [find]");
    until("a session with the other certificate", || {
        reaches(&lab, "", "10.2.0.2")
    });
    // PAP has no keys: the crypto binding is made without.
    server.exec("/interface/sstp-server/server/set authentication=pap");
    server.exec("/ppp/active/remove [find]");
    until("a session by PAP", || reaches(&lab, "", "10.2.0.2"));
}

#[test]
fn packets_beyond_the_length_field_of_sstp_are_fragmented() {
    let test = "packets_beyond_the_length_field_of_sstp_are_fragmented";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let units = "max-mtu=6000 max-mru=6000";
    let server = SSTP.serve(&lab, "");
    SSTP.set_server(&server, units);
    let client = SSTP.dial(&lab, units);
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    let limit = "max-mtu and max-mru of 6000 act as 4087, longer packets are fragmented";
    for router in [&server, &client] {
        assert!(router.log().contains(limit), "{}", router.log());
    }
    assert_eq!(SSTP.monitor(&client, "mtu"), "4087");
    let row = &server.rows("/ppp/active/print")[0];
    assert_eq!(row["encoding"], SSTP.encoding);
    for size in ["4059", "4060", "5900"] {
        let ping = format!("ping -q -c 5 -i 0.1 -W 2 -s {size} 10.2.0.2");
        assert!(works(&lab, "one", &ping), "{size}: {}", server.log());
    }
    no_drops(&client, &["sstp", "stream-full", "too-big"]);
    no_drops(&server, &["sstp", "stream-full", "too-big"]);
}

#[test]
fn a_server_needs_a_certificate_a_free_port_and_a_cipher() {
    let test = "a_server_needs_a_certificate_a_free_port_and_a_cipher";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    let set = |setting: &str, said: &str| {
        server.exec(&format!("/interface/sstp-server/server/set {setting}"));
        until(said, || server.log().contains(said));
    };
    set(
        "certificate=none",
        "certificate=none needs anonymous Diffie-Hellman",
    );
    set(
        "certificate=vpn ciphers=aes256-sha",
        "its CBC suites are broken",
    );
    server.exec("/ip/service/set www-ssl disabled=no port=8443");
    set(
        "ciphers=aes256-gcm-sha384 port=8443",
        "TCP port 8443 belongs to the service www-ssl",
    );
    server.exec("/interface/sstp-server/server/set port=443 tls-version=only-1.2");
    let _client = SSTP.dial(&lab, "");
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
}

#[test]
fn www_ssl_and_sstp_share_a_port_by_what_the_client_asks_for() {
    let test = "www_ssl_and_sstp_share_a_port_by_what_the_client_asks_for";
    let Some(lab) = have(test, &["ping", "curl"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    server.exec("/ip/service/set www-ssl disabled=no");
    let refused = "TCP port 443 belongs to the service www-ssl of /ip/service: \
        it shares the port with a server that has the same certificate";
    until(refused, || server.log().contains(refused));
    server.exec("/ip/service/set www-ssl certificate=vpn");
    let client = SSTP.dial(&lab, "");
    let page = || {
        let page = "curl -sS -k -m 5 -o /dev/null -w %{http_code} https://10.2.0.1/";
        run(&lab, "two", page).contains("200")
    };
    until("a page beside the session", page);
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    assert!(page());
    for (setting, refused) in [
        (
            "verify-client-certificate=yes",
            "verify-client-certificate=yes would ask",
        ),
        (
            "verify-client-certificate=no tls-version=only-1.2",
            "the same tls-version",
        ),
    ] {
        server.exec(&format!("/interface/sstp-server/server/set {setting}"));
        until(refused, || server.log().contains(refused));
    }
    server.exec("/interface/sstp-server/server/set tls-version=any");
    SSTP.set_client(&client, "comment=again");
    until("a session at the shared port", || {
        reaches(&lab, "", "10.2.0.2")
    });
    // Each server may leave the port to the other one.
    server.exec("/ip/service/set www-ssl disabled=yes");
    server.exec("/ppp/active/remove [find]");
    until("a session at a port of its own", || {
        reaches(&lab, "", "10.2.0.2")
    });
}

#[test]
fn certificates_of_server_and_client_are_verified() {
    let test = "certificates_of_server_and_client_are_verified";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    let client = SSTP.dial(&lab, "verify-server-certificate=yes");
    until("an unknown authority is refused", || {
        client.log().contains("UnknownIssuer")
    });
    // The client trusts the certificate itself.
    let export = |router: &crate::world::Router, name: &str| {
        router.exec(&format!(
            "/certificate/export-certificate {name} file-name={name}"
        ));
        router.exec(&format!(":put [/file/get {name}.crt contents]"))
    };
    let import = |router: &crate::world::Router, name: &str, contents: &str| {
        let contents = contents.trim().replace('\n', "\\n");
        router.exec(&format!(
            "/file/add name={name}.crt contents=\"{contents}\\n\""
        ));
        router.exec(&format!(
            "/certificate/import file-name={name}.crt name={name} passphrase=\"\""
        ));
        router.exec(&format!("/certificate/set [find name={name}] trusted=yes"));
    };
    import(&client, "vpn", &export(&server, "vpn"));
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    server.exec("/interface/sstp-server/server/set verify-client-certificate=yes");
    server.exec("/ppp/active/remove [find]");
    until("a client without a certificate is refused", || {
        server
            .exec("/tool/drop/print without-paging")
            .contains("sstp-tls")
    });
    for command in [
        "/certificate/add name=roads common-name=roads key-usage=key-cert-sign key-size=prime256v1",
        "/certificate/sign roads",
        "/certificate/add name=road common-name=road key-usage=digital-signature,tls-client key-size=prime256v1",
        "/certificate/sign road ca=roads",
    ] {
        client.exec(command);
    }
    import(&server, "roads", &export(&client, "roads"));
    SSTP.set_client(&client, "certificate=road");
    until("a packet gets through with certificates of both", || {
        reaches(&lab, "", "10.2.0.2")
    });
}

/// An HTTP proxy: `proxy.py PORT`.
const PROXY: &str = r#"
import socket, sys, threading
listener = socket.create_server(("", int(sys.argv[1])))
print("serving", flush=True)
def pump(a, b):
    while (data := a.recv(65536)):
        b.sendall(data)
    b.close()
def serve(client):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    method, target, version = head.split(b"\r\n")[0].split()
    assert method == b"CONNECT", head
    host, port = target.rsplit(b":", 1)
    server = socket.create_connection((host.decode(), int(port)))
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    print("connected", flush=True)
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    pump(server, client)
while True:
    client, _ = listener.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()
"#;

#[test]
fn a_client_reaches_its_server_through_an_http_proxy() {
    let test = "a_client_reaches_its_server_through_an_http_proxy";
    let programs = ["ping", "python3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    let folder = Folder::new();
    std::fs::write(folder.file("proxy.py"), PROXY).expect("a folder of our own");
    let line = format!("python3 {} 3128", folder.file("proxy.py").display());
    let _proxy = Server::start(&lab, "two", &line, "serving");
    let routes = "/ip address add address=10.1.0.1/24 interface=ether1\n\
        /ip route add gateway=192.0.2.2\n\
        /ip firewall nat add chain=srcnat action=masquerade out-interface=sstp-out1\n";
    let config = SSTP.client_config("http-proxy=10.2.0.2 proxy-port=3128");
    let client = start(&lab, "left", &[&config, routes].concat(), None);
    until("a packet gets through", || reaches(&lab, "", "10.64.0.1"));
    assert_eq!(SSTP.monitor(&client, "status"), "connected");
    let row = &server.rows("/ppp/active/print")[0];
    assert_eq!(row["caller-id"], "10.2.0.2", "{row}");
    SSTP.set_client(&client, "http-proxy=proxy.example");
    until("a proxy's name is refused", || {
        client.log().contains("http-proxy needs an address")
    });
}

/// Opens connections that begin no handshake, and sends garbage in clear and inside TLS: `storm.py SERVER`.
const STORM: &str = r#"
import os, random, socket, ssl, sys, time
server = sys.argv[1]
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
HEAD = b"SSTP_DUPLEX_POST /sra_{BA195980-CD49-458b-9E23-C84EE0ADCD75}/ HTTP/1.1\r\nHost: a\r\n\r\n"
def control(kind, *attributes):
    body = kind.to_bytes(2, "big") + len(attributes).to_bytes(2, "big") + b"".join(attributes)
    return b"\x10\x01" + (len(body) + 4).to_bytes(2, "big") + body
PPP = b"\0\1\0\6\0\1"
def talk(hello):
    with socket.create_connection((server, 443), 2) as tcp, context.wrap_socket(tcp) as tls:
        tls.sendall(hello)
        tls.settimeout(0.1)
        try:
            while tls.recv(4096):
                pass
        except OSError:
            pass
idle = []
print("flooding", flush=True)
while True:
    while len(idle) < 2000:
        idle.append(socket.create_connection((server, 443), 2))
    for hello in [
        b"GET / HTTP/1.1\r\n\r\n",
        HEAD + os.urandom(500),
        HEAD + control(99),
        HEAD + control(1, PPP) + control(1, PPP),
        HEAD + control(1, b"\0\1\0\6\0\7") * 4,
        HEAD + control(1, PPP) + b"\x10\0\0\x1c\xff\x03\0\x21" + os.urandom(20),
        b"A" * 9000,
    ]:
        try:
            talk(hello)
        except OSError:
            pass
    try:
        with socket.create_connection((server, 443), 2) as tcp:
            tcp.sendall(os.urandom(300))
            tcp.recv(100)
    except OSError:
        pass
    gone = idle[:100]
    idle = idle[100:]
    for one in gone:
        one.close()
    time.sleep(0.05)
"#;

#[test]
fn a_storm_of_handshakes_and_garbage_ends_no_session_of_sstp() {
    let test = "a_storm_of_handshakes_and_garbage_ends_no_session_of_sstp";
    let programs = ["ping", "python3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    let client = SSTP.dial(&lab, "");
    let reaches = || reaches(&lab, "", "10.2.0.2");
    until("a packet gets through", reaches);
    let folder = Folder::new();
    std::fs::write(folder.file("storm.py"), STORM).expect("a folder of our own");
    let line = format!("python3 {} 10.2.0.1", folder.file("storm.py").display());
    let _storm = Server::start(&lab, "two", &line, "flooding");
    let drops = || server.exec("/tool/drop/print without-paging");
    let names = [
        "sstp-tls",
        "sstp-request",
        "sstp-malformed",
        "sstp-unknown-message",
        "sstp-state",
        "sstp-protocol",
        "sstp-unbound",
    ];
    until("refused bytes are counted by name", || {
        let drops = drops();
        names.iter().all(|name| drops.contains(name))
    });
    assert!(reaches(), "{}", client.log());
    no_drops(&client, &["sstp"]);
    SSTP.set_client(&client, "disabled=yes");
    until("the session ends", || {
        let rows = server.rows("/ppp/active/print");
        rows.iter().all(|row| row["name"] != "anna")
    });
    SSTP.set_client(&client, "disabled=no");
    until("a client connects during the storm", reaches);
}
