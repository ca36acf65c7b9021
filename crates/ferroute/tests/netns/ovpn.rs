//! OpenVPN by UDP with packets: OpenVPN 2.6 as client and as server of ferroute, and two ferroutes.
//!
//! ```text
//! one ── left (server) ── right (client) ── two
//! ```

use std::fs;

use lab::Lab;

use crate::dns::certificate;
use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Folder, Router, Server, have, lab, run, shell, until, works};

/// Addresses, users, and a server's certificate.
const SERVER: &str = "/ip address add address=10.1.0.1/24 interface=ether1\n\
    /ip address add address=192.0.2.1/24 interface=ether2\n\
    /ip pool add name=users ranges=10.64.0.2-10.64.0.99\n\
    /ppp profile add name=home local-address=10.64.0.1 remote-address=users dns-server=10.64.0.53\n\
    /ppp secret add name=anna password=geheim profile=home service=ovpn\n";
/// Line that OpenVPN prints once its tunnel works.
pub(crate) const UP: &str = "Initialization Sequence Completed";

/// Starts the server on `left` with more settings. Returns it with the file of its authority.
pub(crate) fn serve(lab: &Lab, folder: &Folder, settings: &str) -> (Router, String) {
    let server = start(lab, "left", SERVER, None);
    certify(&server);
    let authority = export_authority(&server, folder);
    server.exec(&format!(
        "/interface/ovpn-server/server/add name=ovpn1 protocol=udp certificate=vpn default-profile=home \
         cipher=aes256-gcm,aes128-gcm,aes128-cbc disabled=no {settings}"
    ));
    (server, authority)
}

/// Makes an authority `ca` on a router, and the certificates `vpn` and `far`.
pub(crate) fn certify(server: &Router) {
    server.exec("/certificate/add name=ca common-name=ca key-usage=key-cert-sign,crl-sign key-size=prime256v1");
    server.exec("/certificate/sign ca ca-crl-host=10.1.0.1");
    for name in ["vpn", "far"] {
        let template = "key-usage=digital-signature,tls-server,tls-client key-size=prime256v1";
        server.exec(&format!(
            "/certificate/add name={name} common-name={name} {template}"
        ));
        server.exec(&format!("/certificate/sign {name} ca=ca"));
    }
}

/// Exports the authority `ca` of a router. Returns the name of the file.
pub(crate) fn export_authority(server: &Router, folder: &Folder) -> String {
    server.exec("/certificate/export-certificate ca file-name=ca");
    let pem = server.exec(":put [/file/get ca.crt contents]");
    let file = folder.file("ca.pem");
    fs::write(&file, pem).expect("a folder of our own");
    file.display().to_string()
}

/// Starts OpenVPN as a client in host `one`, until its tunnel works.
pub(crate) fn dial(lab: &Lab, folder: &Folder, authority: &str, options: &str) -> Server {
    let login = folder.file("login");
    fs::write(&login, "anna\ngeheim\n").expect("a folder of our own");
    let line = format!(
        "/usr/sbin/openvpn --client --dev tun --nobind --remote 10.1.0.1 1194 --proto udp4 --ca {authority} \
         --auth-user-pass {} --verb 3 {options}",
        login.display()
    );
    Server::start(lab, "one", &line, UP)
}

pub(crate) fn ready(test: &str) -> Option<Lab> {
    have(test, &["ping", "openvpn"])
        .then(|| lab(test, &SITES))
        .flatten()
}

/// Asserts that a router has dropped no packets of sessions: neither in the tunnel nor on their way into it.
///
/// A peer sends with the first key of a session before control here has installed it, so a few packets are too early.
pub(crate) fn no_drops(router: &Router) {
    const EARLY: u64 = 20;
    for row in router.rows("/tool/drop/print") {
        let reason = row["reason"].as_str().unwrap_or_default();
        let packets = row["packets"].as_str().and_then(|text| text.parse().ok());
        let is_early =
            reason == "ovpn-no-key" && packets.is_some_and(|packets: u64| packets <= EARLY);
        let is_session = reason.contains("ovpn") || reason == "tunnel-malformed";
        assert!(!is_session || is_early, "{row}");
    }
}

#[test]
fn openvpn_dials_in_with_each_cipher_and_renews_its_keys_without_loss() {
    let test = "openvpn_dials_in_with_each_cipher_and_renews_its_keys_without_loss";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let routes = "push-routes=\"198.51.100.0 255.255.255.0\" redirect-gateway=disabled";
    let (server, authority) = serve(&lab, &folder, routes);
    for (options, encoding) in &[
        ("", "AES-256-GCM"),
        (
            "--data-ciphers AES-128-CBC --auth SHA256",
            "AES-128-CBC/SHA256",
        ),
        (
            "--data-ciphers AES-128-GCM --tls-version-max 1.2 --explicit-exit-notify 1",
            "AES-128-GCM",
        ),
    ] {
        let client = dial(&lab, &folder, &authority, options);
        assert!(
            works(&lab, "one", "ping -q -c 1 -W 2 10.64.0.1"),
            "{options}"
        );
        let route = run(&lab, "one", "ip route get 198.51.100.7");
        assert!(route.contains("10.64.0.1 dev tun0"), "{route}");
        assert!(works(&lab, "one", "ping -q -c 300 -i 0.004 -W 2 10.64.0.1"));
        let long = "ping -q -c 1 -W 2 -s 1472 -M do 10.64.0.1";
        assert!(works(&lab, "one", long), "{options}");
        let row = &server.rows("/ppp/active/print")[0];
        assert_eq!(
            (&row["name"], &row["service"]),
            (&"anna".into(), &"ovpn".into())
        );
        assert_eq!(row["caller-id"], "10.1.0.2");
        assert_eq!(row["encoding"], *encoding, "{options}");
        let rows = server.rows("/interface/ovpn-server/print");
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["name"], "<ovpn-anna>");
        no_drops(&server);
        drop(client);
        server.exec("/ppp/active/remove [find]");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
    }
    let _client = dial(&lab, &folder, &authority, "--reneg-sec 4");
    let ping = run(&lab, "one", "ping -q -c 1500 -i 0.01 -W 2 10.64.0.1");
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    assert_eq!(server.rows("/ppp/active/print").len(), 1);
    no_drops(&server);
}

#[test]
fn wrong_users_and_missing_certificates_are_refused() {
    let test = "wrong_users_and_missing_certificates_are_refused";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "");
    let login = folder.file("wrong");
    fs::write(&login, "anna\nfalsch\n").expect("a folder of our own");
    let line = |more: &str| {
        format!(
            "timeout 20 /usr/sbin/openvpn --client --dev tun --nobind --remote 10.1.0.1 1194 --proto udp4 --ca {authority} \
             --auth-user-pass {} --verb 3 --connect-retry-max 1 {more} || true",
            login.display()
        )
    };
    let said = shell(&lab, "one", &line(""));
    assert!(said.contains("AUTH_FAILED"), "{said}");
    server.exec("/interface/ovpn-server/server/set ovpn1 require-client-certificate=yes");
    server.exec("/certificate/set ca trusted=yes");
    let said = shell(&lab, "one", &line("--hand-window 5"));
    assert!(!said.contains("Peer Connection Initiated"), "{said}");
    assert!(server.rows("/ppp/active/print").is_empty());
    server.exec("/certificate/export-certificate far file-name=far export-passphrase=12345678");
    let export = |name: &str| {
        let text = server.exec(&format!(":put [/file/get {name} contents]"));
        fs::write(folder.file(name), text).expect("a folder of our own");
        folder.file(name).display().to_string()
    };
    let (certificate, key) = (export("far.crt"), export("far.key"));
    let password = folder.file("password");
    fs::write(&password, "12345678\n").expect("a folder of our own");
    let identity = format!(
        "--cert {certificate} --key {key} --askpass {}",
        password.display()
    );
    let client = dial(&lab, &folder, &authority, &identity);
    assert!(works(&lab, "one", "ping -q -c 1 -W 2 10.64.0.1"));
    drop(client);
    server.exec(
        "/interface/ovpn-server/server/add name=ovpn2 protocol=udp certificate=vpn disabled=no",
    );
    let refused = "ovpn2: UDP port 1194 belongs to the server ovpn1: set another port";
    until(refused, || server.log().contains(refused));
    for (settings, reason) in [
        (
            "cipher=blowfish128",
            "cipher=blowfish128 is not implemented",
        ),
        (
            "cipher=aes128-gcm enable-tun-ipv6=yes",
            "enable-tun-ipv6=yes needs tun-server-ipv6",
        ),
        (
            "enable-tun-ipv6=no push-routes=10.0.0.0/8",
            "push-routes has no routes of the form",
        ),
        (
            "push-routes=\"\" push-routes-ipv6=2001:db8::",
            "push-routes-ipv6 has no routes of the form",
        ),
        (
            "push-routes-ipv6=\"\" certificate=none",
            "needs a certificate",
        ),
    ] {
        server.exec(&format!(
            "/interface/ovpn-server/server/set ovpn1 {settings}"
        ));
        until(reason, || server.log().contains(reason));
    }
}

/// Writes the configuration of OpenVPN as a server with more settings, which admits any user. Returns its command line.
pub(crate) fn settings(lab: &Lab, folder: &Folder, more: &str) -> String {
    let [certificate, key, authority] = certificate(folder);
    let accept = folder.file("accept");
    shell(
        lab,
        "one",
        &format!(
            "printf '#!/bin/sh\\nexit 0\\n' > {0}; chmod 755 {0}",
            accept.display()
        ),
    );
    let settings = format!(
        "server 10.8.0.0 255.255.255.0\nca {}\ncert {}\nkey {}\ndh none\nkeepalive 10 60\n\
         verify-client-cert none\nscript-security 2\nauth-user-pass-verify {} via-file\n\
         username-as-common-name\npush \"route 198.51.100.0 255.255.255.0\"\nverb 3\n{more}",
        authority.display(),
        certificate.display(),
        key.display(),
        accept.display()
    );
    let file = folder.file("server.conf");
    fs::write(&file, settings).expect("a folder of our own");
    format!("/usr/sbin/openvpn --config {}", file.display())
}

#[test]
fn the_client_dials_into_openvpn() {
    let test = "the_client_dials_into_openvpn";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let file = settings(&lab, &folder, "dev tun\ntopology subnet\nproto udp4\n");
    let _server = Server::start(&lab, "one", &file, UP);
    let config = "/ip address add address=10.1.0.1/24 interface=ether1\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=10.1.0.2 protocol=udp user=anna password=geheim \
        cipher=aes256-gcm auth=sha1 disabled=no\n";
    let client = start(&lab, "left", config, None);
    until(&format!("the client connects: {}", client.log()), || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.8.0.2")
    });
    assert!(works(&lab, "one", "ping -q -c 300 -i 0.004 -W 2 10.8.0.2"));
    assert!(works(
        &lab,
        "one",
        "ping -q -c 1 -W 2 -s 1472 -M do 10.8.0.2"
    ));
    no_drops(&client);
    let routes = client.exec("/ip/route/print without-paging");
    assert!(routes.contains("198.51.100.0/24"), "{routes}");
    client.exec("/interface/ovpn-client/set ovpn-out1 route-nopull=yes");
    until("the client connects without routes", || {
        let routes = client.exec("/ip/route/print without-paging");
        !routes.contains("198.51.100.0/24") && works(&lab, "one", "ping -q -c 1 -W 1 10.8.0.2")
    });
    // The server admits AEAD ciphers alone.
    client.exec("/interface/ovpn-client/set ovpn-out1 cipher=aes128-cbc");
    until("the server refuses the cipher", || {
        client.log().contains("authentication failed")
    });
    client.exec("/interface/ovpn-client/set ovpn-out1 cipher=blowfish128");
    let reason = "cipher=blowfish128 is not implemented";
    until(reason, || client.log().contains(reason));
}

#[test]
fn two_ferroutes_connect_and_the_client_learns_a_default_route_and_dns() {
    let test = "two_ferroutes_connect_and_the_client_learns_a_default_route_and_dns";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, _) = serve(&lab, &folder, "");
    let config = "/ip address add address=10.2.0.1/24 interface=ether1\n\
        /ip address add address=192.0.2.2/24 interface=ether2\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=192.0.2.1 protocol=udp user=anna password=geheim \
        cipher=aes128-cbc auth=sha1 add-default-route=yes use-peer-dns=yes disabled=no\n\
        /ip firewall nat add chain=srcnat action=masquerade out-interface=ovpn-out1\n";
    let client = start(&lab, "right", config, None);
    until(&format!("a packet gets through: {}", client.log()), || {
        works(&lab, "two", "ping -q -c 1 -W 1 10.1.0.1")
    });
    assert!(works(&lab, "two", "ping -q -c 300 -i 0.004 -W 2 10.1.0.2"));
    let servers = client.exec(":put [/ip/dns/get dynamic-servers]");
    assert!(servers.contains("10.64.0.53"), "{servers}");
    no_drops(&server);
    no_drops(&client);
    client.exec("/interface/ovpn-client/disable ovpn-out1");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
}
