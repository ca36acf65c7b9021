//! Loss, repetition and reordering end in the state that an undisturbed network reaches.

use machine::Duration;
use openvpn::{ClientEvent, Reason, ServerEvent};
use proptest::prelude::*;

use crate::certificates::Certificates;
use crate::network::{Faults, Network, client_settings, server_settings};

/// Opens and closes a session over a disturbed network.
fn open_and_close(certificates: &Certificates, seed: u64, faults: Faults, server_closes: bool) {
    let mut network = Network::with(seed, server_settings(certificates));
    network.faults = faults;
    network.connect(client_settings(certificates));
    network.run(Duration::from_secs(50));
    let has_failed = !network.of_client.closed.is_empty() || network.of_client.opened.is_empty();
    if has_failed {
        assert_ne!(faults.lost, 0, "{:?}", network.of_client);
        network.run(Duration::from_secs(200));
        let reasons = network
            .of_client
            .closed
            .iter()
            .chain(&network.of_server.closed);
        for (_, reason) in reasons {
            assert!(
                matches!(reason, Reason::Handshake | Reason::Timeout),
                "{reason:?}"
            );
        }
    } else {
        network.assert_keyed(0);
        let session = network.pair().1.session;
        match server_closes {
            true => network.at_server(ServerEvent::Close(session)),
            false => network.at_client(ClientEvent::Close),
        }
        network.run(Duration::from_secs(200));
        assert_eq!(network.of_client.closed.len(), 1);
        assert_eq!(network.of_server.closed.len(), 1);
    }
    assert!(!network.client.has_session());
    assert_eq!(network.server.session_count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn disturbed_sessions_open_and_close_like_undisturbed_ones(
        seed: u64,
        lost in 0u8..25,
        repeated in 0u8..40,
        late in 0u8..40,
        server_closes: bool,
    ) {
        let certificates = Certificates::new();
        open_and_close(&certificates, seed, Faults { lost, repeated, late }, server_closes);
    }
}

#[test]
fn an_undisturbed_session_closes_at_both_ends_at_once() {
    let certificates = Certificates::new();
    for server_closes in [false, true] {
        open_and_close(&certificates, 1, Faults::default(), server_closes);
    }
}
