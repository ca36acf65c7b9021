//! Encryption: CCP with MPPE between two sessions, and with a foreign peer.

use machine::Duration;
use ppp::{
    Action, CCP, Decryptor, DownReason, ENCRYPTED, Encryption, EncryptionPolicy, Encryptor, Event,
    Fault, Grant, IPCP, IPV4, KeyLength, KeyLengths, LCP, Method, Methods, MppeKeys, Proof,
    Settings,
};

use super::link::{ADDRESSES, CLIENT, Pair, SERVER, Verifier, client, server, verify};
use super::peer::{ACK, NAK, Peer, REJECT, REQUEST, Sent};

const MINUTE: Duration = Duration::from_secs(60);
const STATELESS_128: [u8; 6] = [18, 6, 1, 0, 0, 0x40];
const STATEFUL_40: [u8; 6] = [18, 6, 0, 0, 0, 0x20];

/// Grants `anna` a session with this encryption.
fn granting(policy: EncryptionPolicy) -> Verifier {
    match policy {
        EncryptionPolicy::Off => verify,
        EncryptionPolicy::Allowed => |claim| {
            let mut grant = verify(claim)?;
            grant.encryption = EncryptionPolicy::Allowed;
            Ok(grant)
        },
        EncryptionPolicy::Required => |claim| {
            let mut grant = verify(claim)?;
            grant.encryption = EncryptionPolicy::Required;
            Ok(grant)
        },
    }
}

fn pair(at_client: EncryptionPolicy, at_server: EncryptionPolicy, method: Method) -> Pair {
    let client = Settings {
        encryption: at_client,
        ..client()
    };
    let server = Settings {
        methods: Methods::NONE.with(method),
        ..server()
    };
    Pair::new(client, server, 7).with_verifier(granting(at_server))
}

fn encryption(pair: &Pair, end: usize) -> Option<&Encryption> {
    let mut log = pair.ends[end].log.iter();
    log.find_map(|action| match action {
        Action::EncryptionUp(encryption) => Some(&**encryption),
        _ => None,
    })
}

#[test]
fn both_ends_derive_the_keys_and_networks_follow_the_encryption() {
    for method in [Method::MsChap1, Method::MsChap2] {
        let mut pair = pair(
            EncryptionPolicy::Allowed,
            EncryptionPolicy::Required,
            method,
        );
        pair.start();
        pair.run_for(MINUTE);
        pair.assert_open();
        let [client, server] = [CLIENT, SERVER].map(|end| encryption(&pair, end));
        let (client, server) = client.zip(server).expect("both ends encrypt");
        assert_eq!(client.transmit.name(), "MPPE128 stateless");
        for (from, to) in [(client, server), (server, client)] {
            assert_eq!(from.transmit, to.receive, "{method:?}");
            let (mut sealing, mut opening) =
                (Encryptor::new(&from.transmit), Decryptor::new(&to.receive));
            let mut packet = [&IPV4.to_be_bytes()[..], &[0x45, 7]].concat();
            let plain = packet.clone();
            let header = sealing.encrypt(&mut packet);
            let mut sealed = [&header[..], &packet].concat();
            assert_eq!(opening.decrypt(&mut sealed), Ok(&mut plain.clone()[..]));
        }
        for end in &pair.ends {
            let up = |action: &Action| matches!(action, Action::EncryptionUp(_));
            let ipv4 = |action: &Action| matches!(action, Action::Ipv4Up(_));
            let at = |what: &dyn Fn(&Action) -> bool| end.log.iter().position(what);
            assert!(at(&up) < at(&ipv4), "no packet passes in clear text");
        }
    }
}

#[test]
fn a_policy_decides_about_sessions_that_cannot_encrypt() {
    use EncryptionPolicy::{Allowed, Off, Required};
    let cases = [
        (Off, Off, Method::MsChap2, true),
        (Allowed, Off, Method::MsChap2, true),
        (Off, Allowed, Method::MsChap2, true),
        (Allowed, Allowed, Method::Chap, true),
        (Required, Off, Method::MsChap2, false),
        (Off, Required, Method::MsChap2, false),
        (Required, Required, Method::Chap, false),
        (Off, Required, Method::Pap, false),
    ];
    for (at_client, at_server, method, opens) in cases {
        let mut pair = pair(at_client, at_server, method);
        pair.start();
        pair.run_for(MINUTE);
        assert_eq!(encryption(&pair, CLIENT), None);
        assert_eq!(encryption(&pair, SERVER), None);
        match opens {
            true => pair.assert_open(),
            false => {
                let downs = pair.downs();
                let required = Some(DownReason::EncryptionRequired);
                assert!(downs.contains(&required), "{downs:?}");
                let up = |action: &Action| matches!(action, Action::Ipv4Up(_));
                let guarded = if at_client == Required {
                    CLIENT
                } else {
                    SERVER
                };
                assert!(!pair.ends[guarded].log.iter().any(up));
            }
        }
    }
}

#[test]
fn a_carrier_that_encrypts_needs_no_mppe_and_gets_the_keys_of_the_login() {
    for (method, has_keys) in [(Method::MsChap2, true), (Method::Pap, false)] {
        let link = |settings: Settings| Settings {
            methods: Methods::NONE.with(method),
            is_encrypted: true,
            reports_keys: true,
            ..settings
        };
        let settings = Settings {
            encryption: EncryptionPolicy::Required,
            ..link(client())
        };
        let verifier = granting(EncryptionPolicy::Required);
        let mut pair = Pair::new(settings, link(server()), 8).with_verifier(verifier);
        pair.start();
        pair.run_for(MINUTE);
        pair.assert_open();
        let keys = [CLIENT, SERVER].map(|end| {
            assert_eq!(encryption(&pair, end), None);
            let mut log = pair.ends[end].log.iter();
            let keys = log.find_map(|action| match action {
                Action::Authenticated(keys) => Some(keys.clone()),
                _ => None,
            });
            keys.expect("a report")
        });
        let [client, server] = keys;
        assert_eq!(client.is_some(), has_keys, "{method:?}");
        let (client, server) = (client.as_deref(), server.as_deref());
        assert_eq!(
            client.map(|keys| &keys.transmit),
            server.map(|keys| &keys.receive)
        );
        assert_eq!(
            client.map(|keys| &keys.receive),
            server.map(|keys| &keys.transmit)
        );
    }
}

#[test]
fn a_link_that_cannot_encrypt_carries_clear_text_unless_encryption_is_required() {
    for (policy, opens) in [
        (EncryptionPolicy::Allowed, true),
        (EncryptionPolicy::Required, false),
    ] {
        let settings = Settings {
            encryption: EncryptionPolicy::Allowed,
            ..client()
        };
        let without = Settings {
            methods: Methods::NONE.with(Method::MsChap2),
            can_encrypt: false,
            ..server()
        };
        let mut pair = Pair::new(settings, without, 7).with_verifier(granting(policy));
        pair.start();
        pair.run_for(MINUTE);
        assert_eq!(encryption(&pair, SERVER), None);
        match opens {
            true => pair.assert_open(),
            false => assert!(pair.downs().contains(&Some(DownReason::EncryptionRequired))),
        }
    }
}

#[test]
fn encryption_comes_up_on_a_bad_link() {
    use super::link::Faults;
    for seed in 0..40 {
        let settings = Settings {
            encryption: EncryptionPolicy::Required,
            ..client()
        };
        let faults = Faults {
            lost: 20,
            duplicated: 10,
            delayed: 10,
        };
        let mut pair = Pair::new(settings, server(), seed)
            .with_verifier(granting(EncryptionPolicy::Required))
            .with_faults(faults);
        pair.start();
        pair.run_for(Duration::from_secs(100));
        let is_up = [CLIENT, SERVER].map(|end| encryption(&pair, end).is_some());
        for (end, is_up) in pair.ends.iter().zip(is_up) {
            assert!(is_up || end.ipv4.is_none(), "seed {seed}: clear text");
        }
    }
}

/// Returns a server's session whose peer is authenticated, and the Configure-Request of its CCP.
fn with_keys(policy: EncryptionPolicy, lengths: KeyLengths) -> (Peer, Sent) {
    let settings = Settings {
        methods: Methods::NONE.with(Method::Pap),
        ..server()
    };
    let mut peer = Peer::open(settings);
    peer.send(ppp::PAP, 1, 1, b"\x04anna\x06geheim");
    let keys = MppeKeys::of_hashes([1; 8], &[2; 16], &[3; 8]);
    let sent = peer.handle(Event::Granted(Box::new(Grant {
        ipv4: Some(ADDRESSES),
        encryption: policy,
        key_lengths: lengths,
        proof: Proof::default().with_keys(Some(keys)),
        ..Grant::default()
    })));
    let request = sent.into_iter().find(|sent| sent.protocol == CCP);
    (peer, request.expect("a request of CCP"))
}

#[test]
fn the_strongest_common_key_is_chosen_and_other_options_are_rejected() {
    let (mut peer, request) = with_keys(EncryptionPolicy::Allowed, KeyLengths::ALL);
    assert_eq!(request.data, [18, 6, 1, 0, 0, 0xe0]);
    let all = [18, 6, 1, 0, 0, 0xe1];
    let answer = peer.send(CCP, REQUEST, 1, &all).remove(0);
    assert_eq!((answer.code, &answer.data[..]), (NAK, &STATELESS_128[..]));
    let deflate = [26, 4, 0x78, 0];
    let answer = peer.send(CCP, REQUEST, 2, &[&deflate[..], &STATELESS_128].concat());
    assert_eq!(
        (answer[0].code, &answer[0].data[..]),
        (REJECT, &deflate[..])
    );
    let answer = peer.send(CCP, REQUEST, 3, &[]).remove(0);
    assert_eq!((answer.code, &answer.data[..]), (NAK, &STATELESS_128[..]));

    // After a Reject, shorter keys follow, and then a session in clear text.
    let mut request = request;
    for bits in [0xa0, 0x20] {
        request = peer.send(CCP, REJECT, request.id, &request.data).remove(0);
        assert_eq!(request.data, [18, 6, 1, 0, 0, bits]);
    }
    let empty = peer.send(CCP, REJECT, request.id, &request.data).remove(0);
    assert_eq!(empty.data, []);

    let short = KeyLengths::NONE.with(KeyLength::Bits40);
    let (mut peer, request) = with_keys(EncryptionPolicy::Required, short);
    assert_eq!(request.data, [18, 6, 1, 0, 0, 0x20]);
    let answer = peer.send(CCP, REQUEST, 1, &STATELESS_128).remove(0);
    assert_eq!((answer.code, &answer.data[..]), (NAK, &request.data[..]));
    let request = peer.send(CCP, NAK, request.id, &STATEFUL_40).remove(0);
    assert_eq!(request.data, STATEFUL_40);
}

#[test]
fn a_lost_packet_of_stateful_encryption_is_reported_until_the_peer_answers() {
    let (mut peer, request) = with_keys(EncryptionPolicy::Required, KeyLengths::ALL);
    let request = peer.send(CCP, NAK, request.id, &STATEFUL_40).remove(0);
    peer.send(CCP, ACK, request.id, &request.data);
    peer.send(CCP, REQUEST, 1, &STATEFUL_40);
    let names = peer.actions.iter().find_map(|action| match action {
        Action::EncryptionUp(both) => Some([both.transmit.name(), both.receive.name()]),
        _ => None,
    });
    assert_eq!(names, Some(["MPPE40 stateful"; 2]));

    let encrypted = [&ENCRYPTED.to_be_bytes()[..], &[0x10, 9, 1, 2, 3]].concat();
    let reset = peer.handle(Event::Packet(&encrypted)).remove(0);
    assert_eq!((reset.protocol, reset.code), (CCP, 14));
    assert_eq!(peer.handle(Event::Packet(&encrypted)), [], "one at a time");
    let again = peer.wait(Duration::from_secs(1)).remove(0);
    assert_eq!(again, reset);
    peer.send(CCP, 15, reset.id.wrapping_add(1), &[]);
    assert_eq!(peer.faults(), [Fault::Mismatch]);
    peer.send(CCP, 15, reset.id, &[]);
    let later = peer.wait(Duration::from_millis(1_500));
    assert!(later.iter().all(|sent| sent.protocol != CCP));

    let answer = peer.send(CCP, 14, 77, &[]).remove(0);
    assert_eq!((answer.code, answer.id), (15, 77));
    assert_eq!(peer.actions, [Action::FlushEncryption]);
}

#[test]
fn a_session_that_was_encrypted_never_continues_in_clear_text() {
    let (mut peer, request) = with_keys(EncryptionPolicy::Allowed, KeyLengths::ALL);
    peer.send(CCP, ACK, request.id, &request.data);
    peer.send(CCP, REQUEST, 1, &STATELESS_128);
    let sent = peer.send(CCP, 5, 2, &[]);
    assert!(
        sent.iter()
            .any(|sent| (sent.protocol, sent.code) == (LCP, 5))
    );
    let close = sent.iter().find(|sent| sent.protocol == LCP).expect("one");
    peer.send(LCP, 6, close.id, &[]);
    assert_eq!(peer.down(), Some(&DownReason::EncryptionLost));
}

#[test]
fn a_session_without_encryption_rejects_ccp() {
    let mut peer = Peer::open(Settings {
        methods: Methods::NONE.with(Method::Pap),
        ..server()
    });
    peer.send(ppp::PAP, 1, 1, b"\x04anna\x06geheim");
    peer.handle(Event::Granted(Box::new(Grant {
        ipv4: Some(ADDRESSES),
        ..Grant::default()
    })));
    let reject = peer.send(CCP, REQUEST, 1, &STATELESS_128).remove(0);
    assert_eq!((reject.protocol, reject.code), (LCP, 8));
    assert_eq!(reject.data[..4], [0x80, 0xfd, 1, 1]);
    assert_eq!(peer.faults(), [Fault::UnknownProtocol]);
}

#[test]
fn resets_before_encryption_and_packets_without_it_are_counted() {
    let (mut peer, _) = with_keys(EncryptionPolicy::Allowed, KeyLengths::ALL);
    peer.send(CCP, 14, 1, &[]);
    assert_eq!(peer.faults(), [Fault::Phase]);
    let encrypted = [&ENCRYPTED.to_be_bytes()[..], &[0x90, 0, 1]].concat();
    peer.handle(Event::Packet(&encrypted));
    assert_eq!(peer.faults(), [Fault::Data]);
    // A refusal of CCP lets networks open in clear text.
    let sent = peer.send(LCP, 8, 1, &[0x80, 0xfd]);
    assert_eq!(sent, []);
    assert_eq!(
        peer.send(IPCP, REQUEST, 1, &[3, 6, 10, 0, 0, 9])[0].code,
        ACK
    );
}
