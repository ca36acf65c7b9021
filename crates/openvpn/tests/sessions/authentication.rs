//! Choice of algorithms, passwords, certificates, and the options of both ends.

use machine::Duration;
use openvpn::{Bits, Cipher, Digest, Framing, Protection, Reason};

use crate::certificates::Certificates;
use crate::network::{Network, client_settings, grant, server_settings};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_client_with_a_password_gets_keys_options_and_a_peer_id() {
    let certificates = Certificates::new();
    for versions in [&[&rustls::version::TLS12][..], &[&rustls::version::TLS13]] {
        let mut network = Network::with(1, server_settings(&certificates));
        let mut settings = client_settings(&certificates);
        settings.tls = certificates.client_tls(versions, false);
        network.connect(settings);
        network.run(Duration::from_secs(2));
        network.assert_keyed(0);
        let (client, server) = network.pair();
        assert_eq!(client.suite, server.suite);
        // The server prefers 256 bits.
        assert_eq!(client.suite.cipher, Cipher::AesGcm(Bits::B256));
        assert_eq!(client.peer_id, Some(server.session));
        assert_eq!(client.push, server.push);
        assert_eq!(client.push.address, grant().push.address);
        assert!(client.push.exports_keys && client.push.notifies_exit);
        assert!(client.tls.starts_with("TLSv1_"), "{}", client.tls);
        let login = &network.of_server.logins[0];
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("user", "secret")
        );
        assert_eq!(login.certificate, None);
        assert!(network.of_client.mismatches.is_empty());
    }
}

#[test]
fn a_refused_client_learns_the_reason() {
    let certificates = Certificates::new();
    let mut network = Network::with(3, server_settings(&certificates));
    network.answer = Err("no such user");
    network.connect(client_settings(&certificates));
    network.run(MINUTE);
    let refused = Reason::Refused("no such user".into());
    assert_eq!(network.of_client.closed, [(0, refused)]);
    let here = Reason::RefusedHere("no such user".into());
    assert_eq!(network.of_server.closed.len(), 1);
    assert_eq!(network.of_server.closed[0].1, here);
    assert_eq!(network.server.session_count(), 0);
}

#[test]
fn a_server_that_verifies_certificates_refuses_a_client_without_one() {
    let certificates = Certificates::new();
    let mut server = server_settings(&certificates);
    server.tls = certificates.server_tls(true);
    for has_certificate in [false, true] {
        let mut network = Network::with(4, server.clone());
        let mut settings = client_settings(&certificates);
        settings.tls = certificates.client_tls(rustls::ALL_VERSIONS, has_certificate);
        network.connect(settings);
        network.run(MINUTE);
        match has_certificate {
            true => {
                network.assert_keyed(0);
                let certificate = &network.of_server.logins[0].certificate;
                assert_eq!(
                    certificate.as_deref(),
                    Some(&*certificates.client.certificate)
                );
            }
            false => {
                assert!(network.of_server.opened.is_empty());
                let reason = &network.of_client.closed[0].1;
                assert!(matches!(reason, Reason::Tls(_)), "{reason:?}");
            }
        }
    }
}

#[test]
fn a_client_refuses_a_server_with_an_untrusted_certificate() {
    let (theirs, ours) = (Certificates::new(), Certificates::new());
    let mut network = Network::with(5, server_settings(&theirs));
    network.connect(client_settings(&ours));
    network.run(MINUTE);
    let reason = &network.of_client.closed[0].1;
    assert!(
        matches!(reason, Reason::Tls(text) if text.contains("certificate")),
        "{reason:?}"
    );
    assert!(network.of_server.logins.is_empty());
    assert_eq!(network.server.session_count(), 0);
}

#[test]
fn ends_without_a_common_cipher_part_and_cbc_uses_the_clients_digest() {
    let certificates = Certificates::new();
    let mut server = server_settings(&certificates);
    server.ciphers = vec![Cipher::AesCbc(Bits::B128)];
    let mut network = Network::with(6, server.clone());
    network.connect(client_settings(&certificates));
    network.run(MINUTE);
    assert_eq!(network.of_server.closed[0].1, Reason::NoCipher);
    let reason = &network.of_client.closed[0].1;
    assert!(
        matches!(reason, Reason::Refused(text) if text.contains("no cipher")),
        "{reason:?}"
    );

    let mut network = Network::with(7, server);
    let mut settings = client_settings(&certificates);
    settings.ciphers = vec![Cipher::AesCbc(Bits::B128)];
    settings.digest = Digest::Sha256;
    network.connect(settings);
    network.run(MINUTE);
    network.assert_keyed(0);
    assert_eq!(network.pair().0.suite, network.pair().1.suite);
    assert_eq!(network.pair().1.suite.digest, Digest::Sha256);
    assert_eq!(network.pair().1.framing, Framing::None);
}

#[test]
fn a_client_with_tls_crypt_does_not_reach_a_server_without() {
    let certificates = Certificates::new();
    let key = "-----BEGIN OpenVPN Static key V1-----\n".to_owned()
        + &"0f".repeat(256)
        + "\n-----END OpenVPN Static key V1-----\n";
    let key = openvpn::StaticKey::parse(&key).expect("a key");
    let mut network = Network::with(8, server_settings(&certificates));
    let mut settings = client_settings(&certificates);
    settings.protection = Protection::TlsCrypt { key };
    network.connect(settings);
    network.run(2 * MINUTE);
    assert_eq!(network.of_client.closed, [(0, Reason::Handshake)]);
    assert_eq!(network.server.session_count(), 0);
}

#[test]
fn differing_mtus_are_reported_at_both_ends() {
    let certificates = Certificates::new();
    let mut network = Network::with(9, server_settings(&certificates));
    let mut settings = client_settings(&certificates);
    settings.mtu = 1400;
    network.connect(settings);
    network.run(MINUTE);
    network.assert_keyed(0);
    for reports in [&network.of_client, &network.of_server] {
        assert_eq!(reports.mismatches.len(), 1);
        assert_eq!(reports.mismatches[0].name, "tun-mtu");
    }
}
