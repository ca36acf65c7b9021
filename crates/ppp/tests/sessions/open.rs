//! Sessions that open: each method of authentication, IPv4, IPv6, sizes.

use machine::Duration;
use ppp::{Action, DownReason, Method, Methods, Multilink, Session, Settings};

use crate::link::{ADDRESSES, CLIENT, Pair, SERVER, client, server};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_client_gets_address_dns_and_ipv6() {
    let client = Settings {
        ipv6: true,
        ..client()
    };
    let mut pair = Pair::new(client, server(), 1);
    pair.start();
    pair.run_for(Duration::from_secs(1));

    pair.assert_open();
    let [client, server] = &pair.ends;
    assert_eq!(client.ipv4.expect("open").dns, ADDRESSES.dns);
    let (there, here) = (
        client.ipv6.expect("IPv6 is open"),
        server.ipv6.expect("IPv6 is open"),
    );
    assert_eq!((there.local, there.remote), (here.remote, here.local));
    assert_ne!(there.local, here.local);
    let link = client.link.expect("the link is up");
    assert_eq!((link.mtu, link.mru), (1480, 1480));
    assert_eq!(link.method, Some(Method::MsChap2));
    assert_eq!(server.link.map(|link| link.method), Some(link.method));
}

#[test]
fn each_method_opens_a_session() {
    for method in Method::ALL {
        let methods = Methods::NONE.with(method);
        let client = Settings {
            methods,
            ..client()
        };
        let mut pair = Pair::new(client, server(), 2);
        pair.start();
        pair.run_for(MINUTE);

        pair.assert_open();
        for at in [CLIENT, SERVER] {
            let link = pair.ends[at].link.expect("the link is up");
            assert_eq!(link.method, Some(method));
        }
    }
}

#[test]
fn ends_without_a_common_method_end() {
    let client = Settings {
        methods: Methods::NONE.with(Method::Pap),
        ..client()
    };
    let server = Settings {
        methods: Methods::NONE.with(Method::MsChap2).with(Method::Chap),
        ..server()
    };
    let mut pair = Pair::new(client, server, 5);
    pair.start();
    pair.run_for(MINUTE);

    assert_eq!(
        pair.downs(),
        [
            Some(DownReason::PeerRequest),
            Some(DownReason::NoCommonMethod)
        ]
    );
}

#[test]
fn a_server_without_methods_serves_nobody() {
    let server = Settings {
        methods: Methods::NONE,
        ..server()
    };
    let mut pair = Pair::new(client(), server, 5);
    pair.start();

    assert_eq!(
        pair.ends[SERVER].down,
        Some(DownReason::NoCommonMethod),
        "at once"
    );
}

#[test]
fn each_end_sends_no_more_than_both_allow() {
    let sizes = |max_mtu, max_mru, settings| Settings {
        max_mtu,
        max_mru,
        ..settings
    };
    let mut pair = Pair::new(sizes(1492, 1400, client()), sizes(1300, 1480, server()), 6);
    pair.start();
    pair.run_for(MINUTE);

    let [client, server] = [CLIENT, SERVER].map(|at: usize| pair.ends[at].link.expect("up"));
    assert_eq!((client.mtu, client.mru), (1480, 1400));
    assert_eq!((server.mtu, server.mru), (1300, 1480));
}

#[test]
fn full_frames_need_the_payload_of_the_carrier() {
    let full = |settings| Settings {
        max_mtu: 1500,
        max_mru: 1500,
        ..settings
    };
    for payload in [1492, 1500] {
        let mut pair = Pair::with_payload(full(client()), full(server()), payload, 7);
        pair.start();
        pair.run_for(MINUTE);

        for end in &pair.ends {
            let link = end.link.expect("the link is up");
            assert_eq!((link.mtu, link.mru), (payload, payload));
            let reduced = |action: &Action| matches!(action, Action::MtuReduced(_));
            assert!(!end.log.iter().any(reduced), "the probe is answered");
        }
    }
}

#[test]
fn a_probe_that_is_lost_reduces_the_mtu() {
    let client = Settings {
        max_mtu: 1492,
        ..client()
    };
    let server = Settings {
        max_mru: 1492,
        ..server()
    };
    let mut pair = Pair::new(client, server, 8);
    pair.largest = 1490;
    pair.start();
    pair.run_for(MINUTE);

    pair.assert_open();
    assert!(pair.ends[CLIENT].log.contains(&Action::MtuReduced(1480)));
    let probes = |action: &&Action| matches!(action, Action::Send(packet) if packet.len() == 1494);
    assert_eq!(pair.ends[CLIENT].log.iter().filter(probes).count(), 3);
}

#[test]
fn multilink_framing_needs_both_ends() {
    for at_server in [Some(1614), None] {
        let client = Settings {
            mrru: Some(1600),
            ..client()
        };
        let server = Settings {
            mrru: at_server,
            ..server()
        };
        let mut pair = Pair::new(client, server, 9);
        pair.start();
        pair.run_for(MINUTE);

        pair.assert_open();
        let expected = Multilink {
            transmit_mrru: at_server,
            receive_mrru: at_server.map(|_| 1600),
        };
        let link = pair.ends[CLIENT].link.expect("up");
        assert_eq!(link.multilink, expected);
    }
}

#[test]
fn required_encryption_ends_the_session() {
    let client = Settings {
        encryption: ppp::EncryptionPolicy::Required,
        ..client()
    };
    let mut pair = Pair::new(client, server(), 10);
    pair.start();
    pair.run_for(MINUTE);

    let [client, server] = pair.downs();
    assert_eq!(client, Some(DownReason::EncryptionRequired));
    assert_eq!(server, Some(DownReason::PeerRequest));
}

#[test]
fn a_client_without_ipv4_and_ipv6_has_nothing_to_open() {
    let client = Settings {
        ipv4: false,
        ..client()
    };
    let mut pair = Pair::new(client, server(), 11);
    pair.start();
    pair.run_for(MINUTE);

    assert_eq!(pair.ends[CLIENT].down, Some(DownReason::NoNetworkProtocol));
}

#[test]
fn an_open_session_is_small() {
    let mut pair = Pair::new(client(), server(), 12);
    pair.start();
    pair.run_for(MINUTE);

    let size = size_of::<Session>();
    assert!(size <= 640, "a session takes {size} bytes");
    let spilled = |action: &&Action| matches!(action, Action::Send(packet) if packet.spilled());
    let spilled: Vec<_> = pair.ends[SERVER].log.iter().filter(spilled).collect();
    assert!(
        spilled.len() <= 2,
        "only the challenge and its answer need the heap: {spilled:?}"
    );
}
