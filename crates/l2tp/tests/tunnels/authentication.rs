//! Tunnel authentication (RFC 2661, 5.1.1).

use l2tp::Reason;
use machine::Duration;

use crate::network::{Network, secrets, settings};

fn network(client: Option<&str>, server: Option<&str>) -> Network {
    let with = |name: &str, secret: Option<&str>| {
        let mut settings = settings(name);
        settings.secrets = secret.map(secrets).unwrap_or_default();
        settings
    };
    let mut network = Network::with(1, with("lac", client), with("lns", server));
    network.dial();
    network.run(Duration::from_secs(3));
    network
}

#[test]
fn ends_with_the_same_secret_open_a_tunnel() {
    network(Some("secret"), Some("secret")).pair();
}

#[test]
fn a_client_that_does_not_know_the_secret_is_refused() {
    let network = network(None, Some("secret"));
    assert_eq!(network.of_client.failed, [(1, Reason::Authentication)]);
    assert!(network.of_server.open.is_empty());
    assert_eq!(network.server.tunnel_count(), 0);
}

#[test]
fn a_client_refuses_a_server_that_does_not_know_the_secret() {
    for server in [None, Some("other")] {
        let network = network(Some("secret"), server);
        assert_eq!(network.of_client.failed, [(1, Reason::Authentication)]);
        assert!(network.of_client.open.is_empty());
        assert!(network.of_server.open.is_empty());
    }
}
