//! Client files of OpenVPN: what ferroute exports opens in OpenVPN 2.6, and what OpenVPN's clients use is imported.
//!
//! ```text
//! one ── left (server or client)
//! ```

use std::fs;

use lab::Lab;

use crate::ovpn::{UP, no_drops, ready, serve, settings};
use crate::pppoe::start;
use crate::world::{Folder, Router, Server, shell, until, works};

/// Returns the contents of a router's file.
fn contents(router: &Router, name: &str) -> String {
    router.exec(&format!(":put [/file/get {name} contents]"))
}

#[test]
fn an_exported_file_opens_in_openvpn_unchanged() {
    let test = "an_exported_file_opens_in_openvpn_unchanged";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, _) = serve(&lab, &folder, "require-client-certificate=yes");
    server.exec("/certificate/set ca trusted=yes");
    server.exec("/certificate/export-certificate far file-name=far export-passphrase=12345678");
    let [login, password] = ["login", "password"].map(|name| folder.file(name));
    fs::write(&login, "anna\ngeheim\n").expect("a folder of our own");
    fs::write(&password, "12345678\n").expect("a folder of our own");
    for (protocol, mode) in [("udp", "ip"), ("tcp", "ethernet")] {
        server.exec(&format!(
            "/interface/ovpn-server/server/set ovpn1 protocol={protocol} mode={mode}"
        ));
        let said = server.exec(
            ":put ([/interface/ovpn-server/server/export-client-configuration server=ovpn1 server-address=10.1.0.1 \
             client-certificate=far client-cert-key=far.key as-value]->\"file\")",
        );
        let file = folder.file("client.ovpn");
        fs::write(&file, contents(&server, said.trim())).expect("a folder of our own");
        let line = format!(
            "/usr/sbin/openvpn --config {} --auth-user-pass {} --askpass {}",
            file.display(),
            login.display(),
            password.display()
        );
        let _client = Server::start(&lab, "one", &line, UP);
        assert!(
            works(&lab, "one", "ping -q -c 3 -W 2 10.64.0.1"),
            "{protocol}: {}",
            server.log()
        );
        no_drops(&server);
        server.exec(&format!("/file/remove {}", said.trim()));
        server.exec("/ppp/active/remove [find]");
    }
}

/// Starts OpenVPN as a server with a static key, and a router that imports the file of a client.
fn import(lab: &Lab, folder: &Folder, of_server: &str, of_client: &str) -> (Server, Router) {
    let key = folder.file("static.key");
    shell(
        lab,
        "one",
        &format!("/usr/sbin/openvpn --genkey secret {}", key.display()),
    );
    let more = format!(
        "dev tun\ntopology subnet\nproto udp4\n{}\n",
        of_server.replace("KEY", &key.display().to_string())
    );
    let line = settings(lab, folder, &more);
    let server = Server::start(lab, "one", &line, UP);
    let authority = fs::read_to_string(folder.file("authority")).expect("written before");
    let key = fs::read_to_string(&key).expect("written before");
    let file = format!(
        "client\ndev tun\nproto udp\nremote 10.1.0.2 1194\nauth-user-pass\n{}<ca>\n{authority}</ca>\n",
        of_client.replace("KEY", &key)
    );
    let config = "/ip address add address=10.1.0.1/24 interface=ether1\n";
    let client = start(lab, "left", config, None);
    let escaped = file.replace('\n', "\\n");
    client.exec(&format!("/file/add name=road.ovpn contents=\"{escaped}\""));
    let said = client.exec(
        "/interface/ovpn-client/import-ovpn-configuration file-name=road.ovpn ovpn-user=anna ovpn-password=geheim",
    );
    assert!(said.contains("road"), "{said}");
    (server, client)
}

#[test]
fn imported_clients_connect_with_tls_auth_and_tls_crypt() {
    let test = "imported_clients_connect_with_tls_auth_and_tls_crypt";
    let Some(lab) = ready(test) else { return };
    for (of_server, of_client) in [
        (
            "tls-auth KEY 0",
            "key-direction 1\n<tls-auth>\nKEY</tls-auth>\n",
        ),
        ("tls-crypt KEY", "<tls-crypt>\nKEY</tls-crypt>\n"),
        (
            "tls-auth KEY 0\nauth SHA256",
            "auth SHA256\nkey-direction 1\n<tls-auth>\nKEY</tls-auth>\n",
        ),
    ] {
        let folder = Folder::new();
        let (_server, client) = import(&lab, &folder, of_server, of_client);
        until(&format!("{of_server}: {}", client.log()), || {
            works(&lab, "one", "ping -q -c 1 -W 1 10.8.0.2")
        });
        no_drops(&client);
    }
}
