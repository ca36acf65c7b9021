//! Version 3: Ethernet pseudowires (RFC 3931, RFC 4719).

use l2tp::{Digest, Event, Fault, Pseudowire, Reason};
use machine::Duration;

use crate::network::{Network, Side, ethernet, secrets};

/// Settings with digests, cookies and a sublayer.
fn pseudowire() -> Pseudowire {
    Pseudowire {
        digest: Some(Digest::Md5),
        cookie_bytes: 8,
        circuit_id: "office".into(),
        has_sublayer: true,
        hello_interval: None,
    }
}

/// Two ends with a secret, and with digests of both kinds.
pub(crate) fn network(seed: u64) -> Network {
    let server = Pseudowire {
        digest: Some(Digest::Sha1),
        cookie_bytes: 4,
        ..Pseudowire::default()
    };
    let [mut client, mut server] =
        [("lac", &pseudowire()), ("lns", &server)].map(|(name, own)| ethernet(name, own));
    (client.secrets, server.secrets) = (secrets("secret"), secrets("secret"));
    Network::with(seed, client, server)
}

#[test]
fn ends_exchange_numbers_cookies_and_the_sublayer() {
    let mut network = network(1);
    network.dial();
    let (client, server) = network.pair();
    assert_eq!(client.session, server.remote);
    assert_eq!(client.remote, server.session);
    let (left, right) = (client.pseudowire, server.pseudowire);
    let (left, right) = (left.expect("Ethernet"), right.expect("Ethernet"));
    assert_eq!(left.local_cookie, right.remote_cookie);
    assert_eq!(left.remote_cookie, right.local_cookie);
    assert_eq!([left.local_cookie.len(), left.remote_cookie.len()], [8, 4]);
    assert!(left.local_sublayer && left.remote_sublayer);
    assert!(right.local_sublayer && right.remote_sublayer);
    assert_eq!(&*right.circuit_id, "office");
    network.run(Duration::from_secs(600));
    network.pair();
}

#[test]
fn an_end_with_a_secret_ignores_messages_without_the_digest_of_the_secret() {
    for (client, digest) in [
        (Some("other"), Some(Digest::Md5)),
        (None, Some(Digest::Md5)),
        (None, None),
    ] {
        let own = Pseudowire {
            digest,
            ..Pseudowire::default()
        };
        let [mut client_settings, mut server] =
            ["lac", "lns"].map(|name| ethernet(name, &pseudowire()));
        client_settings.secrets = client.map(secrets).unwrap_or_default();
        server.secrets = secrets("secret");
        let mut network = Network::with(2, client_settings, server);
        network.pseudowire = Some(own);
        network.dial();
        network.run(Duration::from_secs(60));
        assert_eq!(network.of_client.failed, [(1, Reason::Timeout)]);
        assert_eq!(network.server.tunnel_count(), 0);
        let ignored = &network.of_server.ignored;
        assert!(!ignored.is_empty());
        assert!(ignored.iter().all(|fault| *fault == Fault::Authentication));
    }
}

#[test]
fn a_client_with_a_secret_needs_a_digest() {
    let mut network = network(3);
    network.pseudowire = Some(Pseudowire::default());
    network.dial();
    assert_eq!(network.of_client.failed, [(1, Reason::Authentication)]);
    assert_eq!(network.of_server.ignored, []);
}

#[test]
fn a_server_with_a_circuit_accepts_no_other() {
    let server = Pseudowire {
        circuit_id: "branch".into(),
        ..Pseudowire::default()
    };
    let [client, server] =
        [("lac", &pseudowire()), ("lns", &server)].map(|(name, own)| ethernet(name, own));
    let mut network = Network::with(4, client, server);
    network.dial();
    let failed = &network.of_client.failed;
    let [(1, Reason::Peer(result))] = &failed[..] else {
        panic!("{:?} {:?}", network.of_client, network.of_server);
    };
    assert_eq!(result.code, 5);
    assert!(network.of_server.open.is_empty());
    network.pseudowire = Some(Pseudowire {
        circuit_id: "branch".into(),
        ..pseudowire()
    });
    network.run(Duration::from_secs(60));
    network.of_client.failed.clear();
    network.dial();
    network.pair();
}

/// Restarts the client of an open session: it knows nothing of the session, and dials again.
fn restart(network: &mut Network) {
    network.dial();
    network.client = self::network(6).client;
    network.of_client.open.clear();
    network.dial();
}

#[test]
fn a_new_session_of_a_circuit_replaces_the_earlier_one_of_its_host() {
    let mut network = network(5);
    restart(&mut network);
    let (client, server) = network.pair();
    assert_eq!(client.session, server.remote);
    let closed = &network.of_server.closed;
    assert!(matches!(closed[..], [(_, Reason::Replaced)]), "{closed:?}");
}

#[test]
fn a_new_tunnel_of_a_host_checks_whether_the_earlier_ones_are_alive() {
    let mut network = network(5);
    network.pseudowire = Some(Pseudowire {
        circuit_id: "".into(),
        ..pseudowire()
    });
    restart(&mut network);
    assert_eq!(network.of_server.open.len(), 2);
    network.run(Duration::from_secs(32));
    let (client, server) = network.pair();
    assert_eq!(client.session, server.remote);
    let closed = &network.of_server.closed;
    assert!(matches!(closed[..], [(_, Reason::Timeout)]), "{closed:?}");
}

#[test]
fn an_endpoint_ignores_the_other_version() {
    let mut network = network(7);
    network.pseudowire = None;
    network.dial();
    assert!(network.of_server.ignored.contains(&Fault::Version));
    assert_eq!(network.server.tunnel_count(), 0);
    network.handle(Side::Client, Event::Hangup(1));
}
