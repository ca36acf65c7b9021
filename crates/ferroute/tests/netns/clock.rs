//! Tests the time of day at the start: the first configuration is loaded with the current time.

use crate::ipsec::{SITES, Swan, base, reaches, with_swan};
use crate::ipsec_identities::{certify, connection, credentials, site};
use crate::pair::PAIR;
use crate::world::{Folder, PACKET, Router, Start, have, lab, until};

/// Interfaces that come up while the first configuration is loaded, and events of the scheduler.
const CONFIG: &str = "/interface bridge add name=lan\n\
     /interface bridge port add bridge=lan interface=ether1\n\
     /interface eoip add name=far remote-address=192.0.2.12 tunnel-id=7\n\
     /interface wireguard add name=wg listen-port=13231\n\
     /ip address add address=192.0.2.11/24 interface=lan\n\
     /system scheduler add name=daily start-date=2020-01-01 start-time=00:00:00 interval=1d \
     on-event=\":log warning daily-ran\"\n\
     /system scheduler add name=begin start-time=startup interval=1h on-event=\":log warning begin-ran\"\n";

#[test]
fn interfaces_of_the_first_configuration_show_todays_date() {
    let test = "interfaces_of_the_first_configuration_show_todays_date";
    let Some(lab) = lab(test, &PAIR) else {
        return;
    };
    let start = Start {
        ports: vec![format!("ether1={PACKET}:ether1")],
        ..Start::with(PACKET, CONFIG)
    };
    let router = Router::start(&lab, &start);
    let today = |text: &str| {
        let date = router.value("/system/clock/print", "", "date");
        // The test may run at midnight.
        text.starts_with(&date[..7])
    };

    for interface in ["lan", "far", "wg"] {
        until("the interface runs", || {
            router.value("/interface/print", interface, "running") == "true"
        });
        let up = router.value("/interface/print", interface, "last-link-up-time");
        assert!(today(&up), "{interface} came up at {up}");
    }
    until("the event of the start has run", || {
        router.log().contains("begin-ran")
    });
    // A daily event is not due at the start.
    assert!(!router.log().contains("daily-ran"), "{}", router.log());
    let next = router.value("/system/scheduler/print", "daily", "next-run");
    assert!(next.ends_with(" 00:00:00"), "{next}");
    let early = router.rows("/log/print");
    let times = early.iter().map(|row| row["time"].as_str().unwrap_or(""));
    assert!(times.clone().all(today), "{:#?}", times.collect::<Vec<_>>());
}

/// Start parameters of the left router, with a persistent state folder.
fn left<'a>(config: &'a str, state: &'a std::path::Path) -> Start<'a> {
    Start {
        host: "left",
        state: Some(state),
        ..Start::with(PACKET, config)
    }
}

#[test]
fn certificates_of_the_first_configuration_are_valid_at_once() {
    let test = "certificates_of_the_first_configuration_are_valid_at_once";
    let Some(lab) = have(test, &["openssl"]).then(|| with_swan(test)).flatten() else {
        return;
    };
    let (folder, config) = (Folder::new(), base(1, 2));
    let state = folder.file("state");
    let router = Router::start(&lab, &left(&config, &state));
    certify(&router, "prime256v1");
    let credentials = credentials(&router, &lab);
    let remote = "auth = pubkey\n id = left.example";
    let _swan = Swan::start_in(&lab, credentials, &connection(2, "", remote));
    let identity = "auth-method=digital-signature certificate=left my-id=fqdn:left.example \
                    remote-id=fqdn:right.example";
    for line in site("ike2", identity).lines() {
        router.exec(line);
    }
    until("a packet gets through", || reaches(&lab, ""));
    router.kill();

    let again = Router::start(&lab, &left(&config, &state));

    until("a packet gets through", || reaches(&lab, ""));
    assert!(!again.log().contains("NotValidYet"), "{}", again.log());
}

/// Returns the WireGuard configuration of a site: `key` is its private key, `public` the public key of the other site.
fn wireguard(site: u8, (key, public): (&str, &str), peer: &str) -> String {
    let other = 3 - site;
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /interface wireguard add name=wg listen-port=13231 private-key=\"{key}\"\n\
         /ip address add address=10.9.0.{site}/24 interface=wg\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n\
         /interface wireguard peers add interface=wg name=far public-key=\"{public}\" \
         allowed-address=10.{other}.0.0/24,10.9.0.{other}/32 {peer}\n"
    )
}

#[test]
fn a_peer_accepts_the_first_handshake_after_a_restart() {
    let test = "a_peer_accepts_the_first_handshake_after_a_restart";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    // RFC 7748, 6.1: the keys of Alice and Bob.
    let alice = (
        "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=",
        "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=",
    );
    let bob = (
        "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=",
        "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
    );
    let (folder, near) = (
        Folder::new(),
        wireguard(
            1,
            (alice.0, bob.1),
            "endpoint-address=192.0.2.2 endpoint-port=13231",
        ),
    );
    let far = wireguard(2, (bob.0, alice.1), "responder=yes");
    let state = folder.file("state");
    let _right = crate::ipsec::router(&lab, "right", &far);
    let router = Router::start(&lab, &left(&near, &state));
    until("a packet gets through", || reaches(&lab, ""));
    router.kill();

    let _again = Router::start(&lab, &left(&near, &state));

    until("a packet gets through", || reaches(&lab, ""));
}
