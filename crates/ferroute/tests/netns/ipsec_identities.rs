//! Tests identities of IPsec peers: certificates of both kinds, users of EAP and XAuth, and peers with assigned
//! addresses. The peer is strongSwan, with a certificate of the router's own authority.

use std::fs;

use lab::Lab;

use crate::identity::SERVER;
use crate::ipsec::{Swan, base, is_established, reaches, router, with_swan};
use crate::world::{Folder, Router, Server, have, output, run, shell, text, until, works};

const ROUTER: &str = "common-name=left subject-alt-name=IP:192.0.2.1,DNS:left.example";
const PEER: &str = "common-name=right subject-alt-name=IP:192.0.2.2,DNS:right.example";
const USAGE: &str = "key-usage=digital-signature,tls-server,tls-client";

/// Creates an authority, a certificate for the router, and one for the peer, on the router.
pub(crate) fn certify(router: &Router, size: &str) {
    router.exec("/certificate/add name=ca common-name=ca key-usage=key-cert-sign,crl-sign key-size=prime256v1");
    router.exec("/certificate/sign ca");
    router.exec("/certificate/set ca trusted=yes");
    for (name, template) in [("left", ROUTER), ("right", PEER)] {
        router.exec(&format!(
            "/certificate/add name={name} {template} {USAGE} key-size={size}"
        ));
        router.exec(&format!("/certificate/sign {name} ca=ca"));
    }
}

/// Creates a folder with the peer's certificate, its key, and the authority's certificate.
pub(crate) fn credentials(router: &Router, lab: &Lab) -> Folder {
    let folder = Folder::new();
    router.exec("/certificate/export-certificate ca file-name=ca");
    router.exec(
        "/certificate/export-certificate right file-name=right export-passphrase=correcthorse",
    );
    for (place, file) in [
        ("x509ca", "ca.crt"),
        ("x509", "right.crt"),
        ("private", "right.key"),
    ] {
        let into = folder.file(place);
        fs::create_dir_all(&into).expect("a folder of our own");
        let contents = router.exec(&format!(":put [/file/get {file} contents]"));
        fs::write(into.join(file), contents).expect("a folder of our own");
    }
    let key = folder.file("private").join("right.key");
    let key = key.display();
    let plain = "openssl pkcs8 -passin pass:correcthorse";
    run(lab, "right", &format!("{plain} -in {key} -out {key}.pem"));
    fs::remove_file(folder.file("private").join("right.key")).expect("it is there");
    folder
}

/// Returns a connection of the peer, which authenticates by its certificate.
pub(crate) fn connection(version: u8, more: &str, remote: &str) -> String {
    format!(
        "connections {{\n far {{\n version = {version}\n local_addrs = 192.0.2.2\n remote_addrs = 192.0.2.1\n \
         encap = yes\n proposals = aes128-sha1-modp2048\n {more}\n \
         local {{\n auth = pubkey\n certs = right.crt\n id = right.example\n }}\n remote {{\n {remote}\n }}\n \
         children {{\n net {{\n local_ts = 10.2.0.0/24\n remote_ts = 10.1.0.0/24\n \
         esp_proposals = aes256-sha1-modp1024\n }}\n }}\n }}\n}}\n"
    )
}

/// Returns the router's IPsec configuration with this identity.
pub(crate) fn site(exchange: &str, identity: &str) -> String {
    format!(
        "/ip ipsec peer add name=far address=192.0.2.2/32 exchange-mode={exchange}\n\
         /ip ipsec identity add peer=far {identity}\n\
         /ip ipsec policy add peer=far tunnel=yes src-address=10.1.0.0/24 dst-address=10.2.0.0/24\n"
    )
}

#[test]
fn both_ends_authenticate_by_certificates_in_both_versions() {
    let test = "both_ends_authenticate_by_certificates_in_both_versions";
    let Some(lab) = have(test, &["openssl"]).then(|| with_swan(test)).flatten() else {
        return;
    };
    for (version, exchange, size) in [
        (2, "ike2", "prime256v1"),
        (2, "ike2", "2048"),
        (1, "main", "2048"),
    ] {
        let left = router(&lab, "left", &base(1, 2));
        certify(&left, size);
        let folder = credentials(&left, &lab);
        let remote = "auth = pubkey\n id = left.example";
        let swan = Swan::start_in(&lab, folder, &connection(version, "", remote));
        let identity = "auth-method=digital-signature certificate=left my-id=fqdn:left.example \
                        remote-id=fqdn:right.example";
        for line in site(exchange, identity).lines() {
            left.exec(line);
        }
        until("a packet gets through", || reaches(&lab, ""));
        assert!(is_established(&left));
        let shown = swan.says(&lab, "--list-sas");
        assert!(shown.contains("ESTABLISHED"), "{shown}");
        // The peer initiates.
        assert!(swan.tells(&lab, "--terminate --ike far"));
        until("all is gone here, too", || {
            left.rows("/ip/ipsec/installed-sa/print").is_empty()
        });
        assert!(swan.tells(&lab, "--initiate --child net"), "{}", left.log());
        assert!(works(&lab, "two", "ping -q -c 1 -W 2 10.1.0.2"));
        // A peer with another identity, or of an untrusted authority, is refused.
        left.exec("/ip/ipsec/identity/set [find] remote-id=fqdn:wrong.example");
        until("the other end is not who it should be", || {
            !swan.tells(&lab, "--initiate --child net --timeout 3")
        });
        // Unsupported properties of an identity match no peer.
        for unknown in ["remote-id=dn", "remote-id=ignore match-by=certificate"] {
            left.exec(&format!("/ip/ipsec/identity/set [find] {unknown}"));
            let begins = swan.tells(&lab, "--initiate --child net --timeout 3");
            assert!(!begins, "{unknown}");
        }
        let typo = left.command("/ip/ipsec/identity/set [find] remote-id=address:192.0.2.");
        assert!(!typo.status.success(), "{}", text(&typo.stdout));
        tells_apart_by_certificate(&left, &swan, &lab);
        // The identity matches again, but the authority is not trusted. Established SAs stay.
        left.exec("/certificate/set ca trusted=no");
        left.exec("/ip/ipsec/identity/set [find] match-by=remote-id remote-id=fqdn:right.example");
        assert!(
            !swan.tells(&lab, "--initiate --child net --timeout 3"),
            "{}",
            left.log()
        );
        // The peer's certificate itself is trusted, without its authority.
        left.exec("/ip/ipsec/identity/set [find] remote-certificate=right");
        until("its certificate is known", || reaches(&lab, ""));
        // But not after the authority has revoked it.
        left.exec("/certificate/settings/set crl-use=yes");
        left.exec("/certificate/issued-revoke right");
        assert!(swan.tells(&lab, "--terminate --ike far"));
        assert!(
            !swan.tells(&lab, "--initiate --child net --timeout 3"),
            "{}",
            left.log()
        );
        left.exec("/certificate/settings/set crl-use=no");
        until("nobody asks for that", || reaches(&lab, ""));
    }
}

/// Tests that the peer's certificate selects one of two identities for peers with an unexpected ID.
fn tells_apart_by_certificate(left: &Router, swan: &Swan, lab: &Lab) {
    let begins = || {
        // After a simultaneous initiation the peer may have kept one of two SAs.
        swan.tells(lab, "--terminate --ike far --force --timeout 2");
        swan.tells(lab, "--initiate --child net --timeout 3")
    };
    let by = "match-by=certificate remote-id=fqdn:wrong.example";
    left.exec("/ip/ipsec/peer/set far passive=yes");
    left.exec(&format!(
        "/ip/ipsec/identity/set [find] {by} remote-certificate=left"
    ));
    assert!(!begins(), "the certificate is another one");
    left.exec(&format!(
        "/ip/ipsec/identity/add peer=far auth-method=digital-signature certificate=left my-id=fqdn:left.example \
         {by} remote-certificate=right"
    ));
    assert!(begins(), "the second identity is its: {}", left.log());
    assert!(swan.tells(lab, "--terminate --ike far"));
    left.exec("/ip/ipsec/identity/remove [find remote-certificate=right]");
    left.exec("/ip/ipsec/identity/set [find] remote-certificate=none");
    left.exec("/ip/ipsec/peer/set far passive=no");
}

/// Starts the lab; `None` if strongSwan lacks EAP-MSCHAPv2.
fn with_eap(test: &str) -> Option<Lab> {
    let plugin = "/usr/lib/ipsec/plugins/libstrongswan-eap-mschapv2.so";
    if !std::path::Path::new(plugin).exists() {
        lab::testing::skip(test, "strongSwan has no EAP-MSCHAPv2 here");
        return None;
    }
    have(test, &["openssl"]).then(|| with_swan(test)).flatten()
}

#[test]
fn a_user_logs_in_by_eap_and_verifies_the_servers_certificate() {
    let test = "a_user_logs_in_by_eap_and_verifies_the_servers_certificate";
    let Some(lab) = with_eap(test) else {
        return;
    };
    let left = router(&lab, "left", &base(1, 2));
    certify(&left, "2048");
    let folder = credentials(&left, &lab);
    let remote = "auth = eap-mschapv2\n eap_id = %any";
    let secrets = "secrets {\n eap-joe {\n id = joe\n secret = \"correct horse\"\n }\n}\n";
    let connections = connection(2, "", remote) + secrets;
    let _swan = Swan::start_in(&lab, folder, &connections);
    let identity = "auth-method=eap eap-methods=eap-mschapv2 username=joe password=\"wrong\" \
                    remote-id=fqdn:right.example";
    for line in site("ike2", identity).lines() {
        left.exec(line);
    }
    assert!(!reaches(&lab, ""));
    assert!(!is_established(&left), "by a wrong password");
    left.exec("/ip/ipsec/identity/set [find] password=\"correct horse\"");
    until("a packet gets through", || reaches(&lab, ""));
    assert!(is_established(&left));
}

#[test]
fn a_certificate_logs_in_by_eap_tls() {
    let test = "a_certificate_logs_in_by_eap_tls";
    let plugin = "/usr/lib/ipsec/plugins/libstrongswan-eap-tls.so";
    if !std::path::Path::new(plugin).exists() {
        lab::testing::skip(test, "strongSwan has no EAP-TLS here");
        return;
    }
    for size in ["2048", "prime256v1"] {
        let Some(lab) = have(test, &["openssl"]).then(|| with_swan(test)).flatten() else {
            return;
        };
        let left = router(&lab, "left", &base(1, 2));
        certify(&left, size);
        let folder = credentials(&left, &lab);
        let remote = "auth = eap-tls\n eap_id = %any";
        let _swan = Swan::start_in(&lab, folder, &connection(2, "", remote));
        // The router's certificate is signed by another authority, which the peer does not know.
        for line in [
            "/certificate/add name=ca2 common-name=ca2 key-usage=key-cert-sign,crl-sign key-size=prime256v1",
            "/certificate/sign ca2",
            "/certificate/add name=other common-name=left.example subject-alt-name=DNS:left.example \
             key-size=prime256v1",
            "/certificate/sign other ca=ca2",
        ] {
            left.exec(line);
        }
        let identity =
            "auth-method=eap eap-methods=eap-tls certificate=other remote-id=fqdn:right.example";
        for line in site("ike2", identity).lines() {
            left.exec(line);
        }
        until("the other end refuses it", || {
            reaches(&lab, "");
            !left
                .exec("/log/print where message~\"far.*authentication failed\"")
                .is_empty()
        });
        assert!(!is_established(&left), "{size}: by a strange certificate");
        left.exec("/ip/ipsec/identity/set [find] certificate=left");
        until("a packet gets through", || reaches(&lab, ""));
        assert!(is_established(&left), "{size}");
    }
}

#[test]
fn a_road_warrior_gets_an_address_of_a_pool_and_a_policy() {
    let test = "a_road_warrior_gets_an_address_of_a_pool_and_a_policy";
    let Some(lab) = have(test, &["openssl"]).then(|| with_swan(test)).flatten() else {
        return;
    };
    let left = router(&lab, "left", &base(1, 2));
    certify(&left, "2048");
    let folder = credentials(&left, &lab);
    let remote = "auth = pubkey\n id = left.example";
    let connections = connection(2, "vips = 0.0.0.0", remote)
        .replace("local_ts = 10.2.0.0/24", "local_ts = dynamic");
    let swan = Swan::start_in(&lab, folder, &connections);
    for line in [
        "/ip route add gateway=192.0.2.2",
        "/ip pool add name=vpn ranges=10.7.0.5-10.7.0.9",
        "/ip ipsec mode-config add name=vpn address-pool=vpn split-include=10.1.0.0/24 static-dns=10.1.0.1",
        "/ip ipsec policy group add name=vpn",
        "/ip ipsec policy add template=yes group=vpn src-address=0.0.0.0/0 dst-address=10.7.0.0/24",
        "/ip ipsec peer add name=all exchange-mode=ike2 passive=yes",
        "/ip ipsec identity add peer=all auth-method=digital-signature certificate=left \
         my-id=fqdn:left.example mode-config=vpn generate-policy=port-strict policy-template-group=vpn",
    ] {
        left.exec(line);
    }
    let begun = output(&lab, "right", &swan.line("--initiate --child net"));
    assert!(
        begun.status.success(),
        "{}{}",
        text(&begun.stdout),
        left.log()
    );
    let used = left.rows("/ip/pool/used/print");
    let address = used[0]["address"].as_str().expect("an address");
    let policies = left.rows("/ip/ipsec/policy/print");
    assert!(
        policies
            .iter()
            .any(|row| row["dst-address"] == format!("{address}/32")),
        "{policies:#?}"
    );
    until("a packet gets through", || {
        works(
            &lab,
            "right",
            &format!("ping -q -c 1 -W 1 -I {address} 10.1.0.2"),
        )
    });
    // The peer disconnects, and its address becomes free.
    assert!(swan.tells(&lab, "--terminate --ike far"));
    until("the address is free", || {
        left.rows("/ip/pool/used/print").is_empty()
    });
}

/// Returns the connection of a road warrior with EAP: it verifies the router's certificate, and gets an address.
fn traveller_by_eap(user: &str, password: &str) -> String {
    format!(
        "connections {{\n far {{\n version = 2\n local_addrs = 192.0.2.2\n remote_addrs = 192.0.2.1\n \
         encap = yes\n proposals = aes128-sha1-modp2048\n vips = 0.0.0.0\n \
         local {{\n auth = eap-mschapv2\n eap_id = {user}\n id = {user}\n }}\n \
         remote {{\n auth = pubkey\n id = left.example\n }}\n \
         children {{\n net {{\n local_ts = dynamic\n remote_ts = 10.1.0.0/24\n \
         esp_proposals = aes256-sha1-modp1024\n }}\n }}\n }}\n}}\n\
         secrets {{\n eap-{user} {{\n id = {user}\n secret = \"{password}\"\n }}\n}}\n"
    )
}

/// Returns true if an accounting record of the server has a nonzero counter of this name.
fn counts(told: &str, name: &str) -> bool {
    let numbers = told
        .lines()
        .filter_map(|line| line.trim().strip_prefix(name));
    let mut numbers = numbers.filter_map(|rest| rest.strip_prefix(" = ")?.parse().ok());
    numbers.any(|number: u64| number > 0)
}

/// Returns true if the accounting records show a complete session of a user with this address.
fn is_told(told: &str, address: &str) -> bool {
    let framed = format!("Framed-IP-Address = {address}");
    let lines = [
        "Acct-Status-Type = Start",
        "Acct-Status-Type = Stop",
        "User-Name = \"anna\"",
        &framed,
    ];
    let counted = ["Acct-Input-Packets", "Acct-Output-Octets"];
    lines.iter().all(|line| told.contains(line)) && counted.iter().all(|name| counts(told, name))
}

/// The server ends the session of a user; requests about others and of others are refused (RFC 5176).
fn is_disconnected_by_a_server(lab: &Lab, left: &Router) {
    let request = |kind: &str, attributes: &str, secret: &str| {
        let client = format!("radclient -x -r 1 -t 1 10.1.0.1:3799 {kind} {secret}");
        shell(
            lab,
            "one",
            &format!("echo '{attributes}' | {client} 2>&1 || true"),
        )
    };
    let of_anna = |secret: &str| request("disconnect", "User-Name=anna", secret);
    let said = of_anna("testing123");
    assert!(said.contains("No reply"), "not accepted yet: {said}");
    left.exec("/radius/incoming/set accept=yes");
    let said = of_anna("guessed");
    assert!(said.contains("No reply"), "by a wrong secret: {said}");
    let said = request("disconnect", "User-Name=bert", "testing123");
    assert!(
        said.contains("Disconnect-NAK") && said.contains("Session-Context-Not-Found"),
        "{said}"
    );
    let said = request("coa", "User-Name=anna,Session-Timeout=3600", "testing123");
    assert!(said.contains("CoA-ACK"), "{said}");
    let said = request("coa", "User-Name=anna,Framed-Pool=other", "testing123");
    assert!(
        said.contains("CoA-NAK") && said.contains("Unsupported-Attribute"),
        "{said}"
    );
    let said = of_anna("testing123");
    assert!(said.contains("Disconnect-ACK"), "{said}");
    until("the session is gone", || {
        left.rows("/ip/ipsec/active-peers/print").is_empty()
    });
    let counted = left.exec("/radius/incoming/monitor once");
    for line in ["acks: 2", "naks: 2"] {
        assert!(counted.contains(line), "{line}: {counted}");
    }
    assert!(!counted.contains("bad-requests: 0"), "{counted}");
    let drops = left.exec("/tool/drop/print detail without-paging");
    assert!(drops.contains("radius-unauthenticated"), "{drops}");
}

#[test]
fn a_radius_server_authenticates_users_of_eap() {
    let test = "a_radius_server_authenticates_users_of_eap";
    let Some(lab) = have(test, &["freeradius", "radclient"])
        .then(|| with_eap(test))
        .flatten()
    else {
        return;
    };
    let left = router(&lab, "left", &base(1, 2));
    certify(&left, "2048");
    let folder = credentials(&left, &lab);
    for line in [
        "/ip route add gateway=192.0.2.2",
        "/ip pool add name=vpn ranges=10.7.0.5-10.7.0.9",
        "/ip ipsec mode-config add name=vpn address-pool=vpn split-include=10.1.0.0/24",
        "/ip ipsec policy group add name=vpn",
        "/ip ipsec policy add template=yes group=vpn src-address=0.0.0.0/0 dst-address=10.7.0.0/24",
        "/ip ipsec peer add name=all exchange-mode=ike2 passive=yes",
        "/ip ipsec identity add peer=all auth-method=eap-radius certificate=left my-id=fqdn:left.example \
         mode-config=vpn generate-policy=port-strict policy-template-group=vpn",
        "/radius add service=ipsec address=10.1.0.2 secret=testing123 timeout=2s",
    ] {
        left.exec(line);
    }
    let swan = Swan::start_in(&lab, folder, &traveller_by_eap("anna", "correct horse"));
    let logs_in = |swan: &Swan| {
        let begun = output(
            &lab,
            "right",
            &swan.line("--initiate --child net --timeout 20"),
        );
        begun.status.success()
    };
    assert!(!logs_in(&swan), "nobody answers: {}", left.log());
    let radius = Folder::new();
    let place = radius.file("").display().to_string();
    let config = SERVER.replace("FOLDER", place.trim_end_matches('/'));
    fs::write(radius.file("radiusd.conf"), config).expect("a folder of our own");
    let users = "anna Cleartext-Password := \"correct horse\"\n";
    fs::write(radius.file("users"), users).expect("a folder of our own");
    let line = format!("freeradius -f -l stdout -xx -d {place}");
    let _server = Server::start(&lab, "one", &line, "Ready to process requests");
    assert!(logs_in(&swan), "{}", left.log());
    let used = left.rows("/ip/pool/used/print");
    let address = used[0]["address"].as_str().expect("an address");
    let ping = format!("ping -q -c 1 -W 1 -I {address} 10.1.0.2");
    until("a packet gets through", || works(&lab, "right", &ping));
    let peers = left.rows("/ip/ipsec/active-peers/print");
    assert_eq!(peers[0]["dynamic-address"], address, "{peers:?}");
    let counted = left.exec("/radius/monitor 0 once");
    for line in ["rejects: 0", "timeouts: 1", "bad-replies: 0"] {
        assert!(counted.contains(line), "{line}: {counted}");
    }
    is_disconnected_by_a_server(&lab, &left);
    until("the server is told of the session", || {
        let told = fs::read_to_string(radius.file("detail")).unwrap_or_default();
        is_told(&told, address)
    });
    drop(swan);
    let folder = credentials(&left, &lab);
    let stranger = Swan::start_in(&lab, folder, &traveller_by_eap("anna", "wrong"));
    assert!(!logs_in(&stranger), "by a wrong password");
    until("the server has refused", || {
        left.exec("/radius/monitor 0 once").contains("rejects: 1")
    });
}

/// Returns the router's dynamic addresses and NAT rules, and its dynamic DNS servers.
fn dynamic(router: &Router) -> (Vec<String>, Vec<String>, String) {
    let rows = |menu: &str, cell: &str| -> Vec<_> {
        let rows = router.rows(&format!("{menu}/print where dynamic"));
        let cells = rows
            .iter()
            .map(|row| row[cell].as_str().unwrap_or_default());
        cells.map(str::to_owned).collect()
    };
    (
        rows("/ip/address", "address"),
        rows("/ip/firewall/nat", "to-addresses"),
        router
            .exec(":put [/ip/dns/get dynamic-servers]")
            .trim()
            .to_owned(),
    )
}

#[test]
fn the_router_as_road_warrior_to_a_dns_name_translates_its_network() {
    let test = "the_router_as_road_warrior_to_a_dns_name_translates_its_network";
    let Some(lab) = with_eap(test) else {
        return;
    };
    // The policy matches packets to the other network; the only route is the default route.
    let base = base(1, 2).replace("dst-address=10.2.0.0/24 ", "");
    let left = router(&lab, "left", &base);
    certify(&left, "2048");
    let folder = credentials(&left, &lab);
    let remote = "auth = eap-mschapv2\n eap_id = %any";
    let pools = "pools {\n vpn {\n addrs = 10.7.0.5-10.7.0.9\n dns = 10.2.0.53\n }\n}\n";
    let secrets = "secrets {\n eap-joe {\n id = joe\n secret = \"correct horse\"\n }\n}\n";
    let far = connection(2, "pools = vpn", remote)
        .replace("remote_ts = 10.1.0.0/24", "remote_ts = dynamic");
    let swan = Swan::start_in(&lab, folder, &(far + pools + secrets));
    for line in [
        "/ip dns set servers=192.0.2.53",
        "/ip dns static add name=far.example address=192.0.2.2 ttl=1s",
        "/ip firewall address-list add list=local address=10.1.0.0/24",
        "/ip ipsec mode-config add name=vpn responder=no src-address-list=local",
        "/ip ipsec policy group add name=vpn",
        "/ip ipsec policy add template=yes group=vpn src-address=0.0.0.0/0 dst-address=0.0.0.0/0",
        "/ip ipsec peer add name=far address=far.example exchange-mode=ike2",
        "/ip ipsec identity add peer=far auth-method=eap eap-methods=eap-mschapv2 username=joe \
         password=\"correct horse\" remote-id=fqdn:right.example mode-config=vpn \
         generate-policy=port-strict policy-template-group=vpn",
    ] {
        left.exec(line);
    }
    until("a packet gets through", || reaches(&lab, ""));
    let (addresses, rules, dns) = dynamic(&left);
    let given = ["10.7.0.5".to_owned()];
    assert_eq!(
        (&addresses[..], &rules[..]),
        (&["10.7.0.5/32".to_owned()][..], &given[..])
    );
    assert_eq!(dns, "10.2.0.53");
    let rule = &left.rows("/ip/firewall/nat/print where dynamic")[0];
    assert_eq!(rule["comment"], "ipsec mode-config");
    assert_eq!(rule["dst-address-list"], "!local");
    assert_ne!(rule["packets"], "0", "{rule:#?}");
    let peer = &left.rows("/ip/ipsec/peer/print")[0];
    assert_eq!(peer["current-address"], "192.0.2.2");
    let refused = left.command("/ip/firewall/nat/remove [find where dynamic]");
    assert!(!refused.status.success(), "{}", text(&refused.stdout));
    // A changed mode-config applies at once.
    left.exec("/ip/ipsec/mode-config/set vpn connection-mark=none-has-it");
    until("nothing is translated", || !reaches(&lab, ""));
    left.exec("/ip/ipsec/mode-config/set vpn !connection-mark use-responder-dns=no");
    until("a packet gets through again", || reaches(&lab, ""));
    assert_eq!(dynamic(&left).2, "");
    // The name now resolves to another host's address.
    left.exec("/ip/dns/static/set [find] address=192.0.2.9");
    until("all of it is gone", || {
        dynamic(&left) == (Vec::new(), Vec::new(), String::new())
    });
    left.exec("/ip/dns/static/set [find] address=192.0.2.2");
    until("it is back", || reaches(&lab, ""));
    // The other end takes leave: it is asked again.
    assert!(swan.tells(&lab, "--terminate --ike far"));
    until("a packet gets through once more", || reaches(&lab, ""));
    assert_eq!(dynamic(&left).0.len(), 1);
}

/// Returns a connection of the peer by IKEv1 with a pre-shared key and XAuth.
fn login(more: &str, ends: &str, child: &str) -> String {
    format!(
        "connections {{\n far {{\n version = 1\n local_addrs = 192.0.2.2\n remote_addrs = 192.0.2.1\n encap = yes\n \
         proposals = aes128-sha1-modp2048\n {more}\n local {{\n auth = psk\n }}\n remote {{\n auth = psk\n }}\n \
         {ends}\n children {{\n net {{\n {child}\n esp_proposals = aes256-sha1-modp1024\n }}\n }}\n }}\n}}\n\
         pools {{\n vpn {{\n addrs = 10.7.0.5-10.7.0.9\n dns = 10.2.0.53\n }}\n}}\n\
         secrets {{\n ike-1 {{\n secret = \"shared by all\"\n }}\n \
         xauth-joe {{\n id = joe\n secret = \"correct horse\"\n }}\n}}\n"
    )
}

/// Starts the lab; `None` if strongSwan lacks XAuth.
fn with_logins(test: &str) -> Option<Lab> {
    let plugin = "/usr/lib/ipsec/plugins/libstrongswan-xauth-generic.so";
    if !std::path::Path::new(plugin).exists() {
        lab::testing::skip(test, "strongSwan has no XAuth here");
        return None;
    }
    have(test, &["ping"]).then(|| with_swan(test)).flatten()
}

const USER: &str = "auth-method=pre-shared-key-xauth secret=\"shared by all\" username=joe";

#[test]
fn the_router_logs_in_by_xauth_and_gets_an_address_and_networks() {
    let test = "the_router_logs_in_by_xauth_and_gets_an_address_and_networks";
    let Some(lab) = with_logins(test) else {
        return;
    };
    // The policies match packets to the other networks; the only route is the default route.
    let base = base(1, 2).replace("dst-address=10.2.0.0/24 ", "");
    let left = router(&lab, "left", &base);
    run(&lab, "right", "ip address add 10.3.0.1/24 dev lo");
    let child = "local_ts = 10.2.0.0/24,10.3.0.0/24\n remote_ts = dynamic";
    let ends = "remote-2 {\n auth = xauth-generic\n }";
    let swan = Swan::start_in(&lab, Folder::new(), &login("pools = vpn", ends, child));
    for line in [
        "/ip firewall address-list add list=local address=10.1.0.0/24",
        "/ip ipsec mode-config add name=vpn responder=no src-address-list=local",
        "/ip ipsec policy group add name=vpn",
        "/ip ipsec policy add template=yes group=vpn src-address=0.0.0.0/0 dst-address=0.0.0.0/0",
        "/ip ipsec peer add name=far address=192.0.2.2/32",
        &format!(
            "/ip ipsec identity add peer=far {USER} password=wrong mode-config=vpn \
             generate-policy=port-strict policy-template-group=vpn"
        ),
    ] {
        left.exec(line);
    }
    until("it is told that the password is wrong", || {
        left.exec(":put [/log/print as-value]")
            .contains("the peer refuses the user")
    });
    assert!(!reaches(&lab, ""));
    left.exec("/ip/ipsec/identity/set [find] password=\"correct horse\"");
    until("a packet gets through", || reaches(&lab, ""));
    let (addresses, rules, dns) = dynamic(&left);
    let given = ["10.7.0.5".to_owned()];
    assert_eq!(
        (&addresses[..], &rules[..], &dns[..]),
        (&["10.7.0.5/32".to_owned()][..], &given[..], "10.2.0.53")
    );
    let made = || {
        let policies = left.rows("/ip/ipsec/policy/print where dynamic");
        let cells = policies.iter().map(|row| row["dst-address"].to_string());
        cells.collect::<std::collections::BTreeSet<_>>()
    };
    until("each network has a policy", || made().len() == 2);
    // A changed profile renegotiates everything; the address stays.
    let before = left.rows("/ip/ipsec/active-peers/print")[0][".id"].clone();
    left.exec("/ip/ipsec/profile/set [find] lifetime=1m");
    until("another IKE SA is there", || {
        let peers = left.rows("/ip/ipsec/active-peers/print");
        peers
            .iter()
            .any(|peer| peer["state"] == "established" && peer[".id"] != before)
    });
    until("a packet gets through again", || reaches(&lab, ""));
    assert_eq!(dynamic(&left).0, addresses);
    // The other end takes leave: it is asked again.
    assert!(swan.tells(&lab, "--terminate --ike far"));
    until("a packet gets through once more", || reaches(&lab, ""));
    assert_eq!(dynamic(&left).0.len(), 1);
}

#[test]
fn road_warriors_log_in_by_xauth_and_get_addresses_of_a_pool() {
    let test = "road_warriors_log_in_by_xauth_and_get_addresses_of_a_pool";
    let Some(lab) = with_logins(test) else {
        return;
    };
    let left = router(&lab, "left", &base(1, 2));
    let child = "local_ts = dynamic\n remote_ts = 10.1.0.0/24";
    let ends = "local-2 {\n auth = xauth-generic\n xauth_id = joe\n }";
    let swan = Swan::start_in(&lab, Folder::new(), &login("vips = 0.0.0.0", ends, child));
    for line in [
        "/ip route add gateway=192.0.2.2",
        "/ip pool add name=vpn ranges=10.7.0.5-10.7.0.9",
        "/ip ipsec mode-config add name=vpn address-pool=vpn split-include=10.1.0.0/24 static-dns=10.1.0.1",
        "/ip ipsec policy group add name=vpn",
        "/ip ipsec policy add template=yes group=vpn src-address=0.0.0.0/0 dst-address=10.7.0.0/24",
        "/ip ipsec peer add name=all passive=yes",
        &format!(
            "/ip ipsec identity add peer=all {USER} password=\"correct horse\" mode-config=vpn \
             generate-policy=port-strict policy-template-group=vpn"
        ),
    ] {
        left.exec(line);
    }
    let begun = output(&lab, "right", &swan.line("--initiate --child net"));
    assert!(
        begun.status.success(),
        "{}{}",
        text(&begun.stdout),
        left.log()
    );
    let used = left.rows("/ip/pool/used/print");
    let address = used[0]["address"].as_str().expect("an address").to_owned();
    let ping = format!("ping -q -c 1 -W 1 -I {address} 10.1.0.2");
    until("a packet gets through", || works(&lab, "right", &ping));
    // Phase 1 is renegotiated with another login: the address stays.
    swan.says(&lab, "--rekey --ike far --reauth");
    until("there is one IKE SA, another one", || {
        let peers = left.rows("/ip/ipsec/active-peers/print where state=established");
        peers.len() == 1
    });
    until("a packet gets through again", || {
        works(&lab, "right", &ping)
    });
    let used = left.rows("/ip/pool/used/print");
    assert_eq!(
        used.iter().map(|row| &row["address"]).collect::<Vec<_>>(),
        [&*address]
    );
    assert!(swan.tells(&lab, "--terminate --ike far"));
    until("the address is free", || {
        left.rows("/ip/pool/used/print").is_empty()
    });
    // A wrong password is refused.
    left.exec("/ip/ipsec/identity/set [find] password=another");
    assert!(!swan.tells(&lab, "--initiate --child net --timeout 5"));
    assert!(left.rows("/ip/pool/used/print").is_empty());
    let log = left.exec(":put [/log/print as-value]");
    assert!(log.contains("or the password is wrong"), "{log}");
    assert!(!log.contains("correct horse"), "{log}");
}
