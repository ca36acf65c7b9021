//! PPP sessions encrypted by MPPE: over each carrier between two routers, with Linux's pppd and kernel as client and as
//! server, and with keys of FreeRADIUS.

use std::fs;

use crate::carriers::{self, Carrier, L2TP, PPPOE, PPTP, encoding, only, reaches};
use crate::ipsec::SITES;
use crate::pppoe::{CLIENT, SERVER, start};
use crate::world::{Folder, Router, Server, have, lab, shell, until, works};

const WORD: &str = "/ppp profile set home use-encryption=";

fn no_drops(router: &Router) {
    carriers::no_drops(router, &["mppe"]);
}

/// Encrypts a session between two routers: packets of full size, many packets, and packets in fragments.
fn two_routers_encrypt(test: &str, carrier: &Carrier) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = carrier.serve(&lab, &[WORD, "required\n"].concat());
    let client = carrier.dial(&lab, "profile=default-encryption");
    let reaches = |more: &str| reaches(&lab, more, "10.2.0.2");
    until("an encrypted packet gets through", || reaches(""));
    assert_eq!(encoding(&server), "MPPE128 stateless");
    let mtu = carrier.mtu - 4;
    assert_eq!(
        client.value("/interface/print", &carrier.client(), "actual-mtu"),
        mtu.to_string()
    );
    assert!(works(&lab, "one", "ping -q -c 600 -i 0.002 -W 2 10.2.0.2"));
    assert!(reaches(&format!("-s {} -M do", mtu - 28)));
    assert!(!reaches(&format!("-s {} -M do", mtu - 27)));
    let log = server.exec("/log/print without-paging");
    assert!(log.contains("which is broken"), "{log}");
    no_drops(&server);
    no_drops(&client);

    // With multilink framing, encrypted packets of full size travel in fragments.
    carrier.set_server(&server, "mrru=1600");
    carrier.set_client(&client, "mrru=1600");
    server.exec("/ppp/active/remove [find]");
    // The host remembers the MTU that it has learned.
    shell(&lab, "one", "ip route flush cache");
    until("a full packet passes", || reaches("-s 1472 -M do"));
    assert_eq!(encoding(&server), "MPPE128 stateless");
    no_drops(&server);
    no_drops(&client);

    // Without encryption the fragments are of packets in clear text.
    server.exec("/ppp/profile/set home use-encryption=no");
    server.exec("/ppp/active/remove [find]");
    until("a full packet passes in clear text", || {
        encoding(&server).is_empty() && reaches("-s 1472 -M do")
    });
}

#[test]
fn two_routers_encrypt_and_long_packets_pass_in_fragments() {
    let test = "two_routers_encrypt_and_long_packets_pass_in_fragments";
    two_routers_encrypt(test, &PPPOE);
}

#[test]
fn two_routers_encrypt_over_l2tp_and_long_packets_pass_in_fragments() {
    let test = "two_routers_encrypt_over_l2tp_and_long_packets_pass_in_fragments";
    two_routers_encrypt(test, &L2TP);
}

#[test]
fn two_routers_encrypt_over_pptp_and_long_packets_pass_in_fragments() {
    let test = "two_routers_encrypt_over_pptp_and_long_packets_pass_in_fragments";
    two_routers_encrypt(test, &PPTP);
}

#[test]
fn a_session_that_cannot_be_encrypted_as_required_ends_with_the_reason() {
    let test = "a_session_that_cannot_be_encrypted_as_required_ends_with_the_reason";
    let Some(lab) = lab(test, &SITES) else {
        return;
    };
    let server = [SERVER, WORD, "required\n"].concat();
    let server = start(&lab, "right", &server, None);
    let client = start(&lab, "left", CLIENT, None);
    let says =
        |router: &Router, text: &str| router.exec("/log/print without-paging").contains(text);
    until("the server says why", || {
        says(&server, "encryption required, but not negotiated")
    });
    client.exec("/interface/pppoe-client/set pppoe-out1 allow=chap profile=default-encryption");
    until("the server names the method", || {
        says(&server, "this login gives no keys: use MS-CHAP")
    });
    assert_eq!(
        server.rows("/ppp/active/print"),
        Vec::<serde_json::Value>::new()
    );
    client.exec("/interface/pppoe-client/set pppoe-out1 allow=mschap1");
    until("the session is encrypted", || {
        encoding(&server) == "MPPE128 stateless"
    });
}

#[test]
fn pppd_of_linux_encrypts_as_client() {
    let test = "pppd_of_linux_encrypts_as_client";
    let Some(lab) = have(test, &["ping", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = PPPOE.guest(test, &lab, "left", "pppoe ppp_mppe") else {
        return;
    };
    let server = start(&lab, "right", &[SERVER, WORD, "required\n"].concat(), None);
    let cases = [
        ("mschap-v2", "require-mppe-128", "MPPE128 stateless"),
        (
            "mschap-v2",
            "require-mppe-40 nomppe-128",
            "MPPE40 stateless",
        ),
        ("mschap", "require-mppe-128", "MPPE128 stateless"),
    ];
    for (method, options, expected) in cases {
        guest.run(&format!(
            "setsid /usr/sbin/pppd plugin rp-pppoe.so nic-vec0 user anna password geheim {} {options} noauth nodetach \
             defaultroute nopersist debug logfile /mnt/pppd.log >/dev/null 2>&1 </dev/null & \
             echo $! > /run/pppd.pid",
            only(method)
        ));
        until(&format!("{method} {options}: {}", server.log()), || {
            guest.works("ping -q -c 1 -W 2 10.2.0.2")
        });
        assert_eq!(encoding(&server), expected);
        assert!(guest.works("ping -q -c 600 -i 0.002 -W 2 10.2.0.2"));
        assert!(guest.works("ping -q -c 1 -W 2 -s 1400 -M do 10.2.0.2"));
        no_drops(&server);
        guest.run("kill $(cat /run/pppd.pid)");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        until("pppd ends", || !guest.works("kill -0 $(cat /run/pppd.pid)"));
    }
}

#[test]
fn pppd_of_linux_encrypts_as_server() {
    let test = "pppd_of_linux_encrypts_as_server";
    let programs = ["ping", "pppd", "pppoe-server"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let Some(mut guest) = PPPOE.guest(test, &lab, "right", "ppp_mppe") else {
        return;
    };
    let client = CLIENT.replace("user=anna", "user=anna profile=default-encryption");
    let client = start(&lab, "left", &client, None);
    for (options, expected) in [
        ("'require-mppe-128'", "MPPE128 stateless"),
        ("'require-mppe-40' 'nomppe-128'", "MPPE40 stateless"),
    ] {
        guest.run(&format!(
            "printf '%s\\n' require-mschap-v2 {options} 'mtu 1492' 'mru 1492' 'logfile /mnt/pppd.log' > /run/options
setsid /usr/sbin/pppoe-server -I vec0 -C foreign -L 10.67.15.1 -R 10.67.15.100 -N 10 -O /run/options \
>/dev/null 2>&1 </dev/null"
        ));
        until(&format!("{options}: {}", client.log()), || {
            works(&lab, "one", "ping -q -c 1 -W 1 10.67.15.1")
        });
        let command = "/interface/pppoe-client/monitor pppoe-out1 once as-value";
        let encoding = client.exec(&format!(":put ([{command}]->\"encoding\")"));
        assert_eq!(encoding.trim(), expected);
        assert!(works(
            &lab,
            "one",
            "ping -q -c 300 -i 0.004 -W 2 10.67.15.1"
        ));
        no_drops(&client);
        guest.run("kill $(pidof pppoe-server) $(pidof pppd)");
        guest.wait_for_end("pppd");
    }
}

/// Users of FreeRADIUS: its keys and policy come from the module `mschap`.
const USERS: &str = "anna Cleartext-Password := \"geheim\"
\tFramed-IP-Address = 10.64.0.7
";

#[test]
fn keys_of_freeradius_encrypt_sessions_of_both_versions() {
    let test = "keys_of_freeradius_encrypt_sessions_of_both_versions";
    let Some(lab) = have(test, &["ping", "freeradius"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let place = folder.file("").display().to_string();
    let place = place.trim_end_matches('/');
    let config = crate::identity::SERVER.replace("FOLDER", place);
    let config = config.replace(
        " mschap {\n }",
        " mschap {\n  use_mppe = yes\n  require_encryption = yes\n  require_strong = yes\n }",
    );
    let config = config.replace(" authorize {\n", " authorize {\n  mschap\n");
    fs::write(folder.file("radiusd.conf"), config).expect("our folder");
    fs::write(folder.file("users"), USERS).expect("our folder");
    let line = format!("freeradius -f -l stdout -xx -d {place}");
    let _server = Server::start(&lab, "two", &line, "Ready to process requests");
    let radius = "/ppp secret remove anna\n/ppp aaa set use-radius=yes\n\
                  /radius add service=ppp address=10.2.0.2 secret=testing123 timeout=2s require-message-auth=no\n";
    let server = start(&lab, "right", &[SERVER, radius].concat(), None);
    let client = CLIENT.replace(
        "user=anna",
        "user=anna profile=default-encryption allow=mschap2",
    );
    let client = start(&lab, "left", &client, None);
    let reaches = || works(&lab, "one", "ping -q -c 1 -W 1 10.2.0.2");
    until(&format!("version 2: {}", server.log()), reaches);
    assert_eq!(encoding(&server), "MPPE128 stateless");
    client.exec("/interface/pppoe-client/set pppoe-out1 allow=mschap1");
    until(&format!("version 1: {}", server.log()), || {
        encoding(&server) == "MPPE128 stateless" && reaches()
    });
    no_drops(&server);
    no_drops(&client);
}
