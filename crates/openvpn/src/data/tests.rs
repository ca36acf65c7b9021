use machine::Rng;
use zeroize::Zeroizing;

use super::*;
use crate::event::DataKeys;
use crate::prf::tests::known_material;
use crate::push::Framing;
use crate::suite::{Bits, Cipher, Digest, Keys, Suite};

/// Keys of the client and of the server.
fn keys(suite: Suite, peer_id: Option<u32>, framing: Framing) -> [DataKeys; 2] {
    let material = Zeroizing::new(known_material());
    [true, false].map(|is_client| DataKeys {
        session: 1,
        key_id: 0,
        suite,
        peer_id,
        framing,
        keys: Keys::split(&material, is_client),
    })
}

fn suites() -> Vec<Suite> {
    let digests = [
        Digest::None,
        Digest::Md5,
        Digest::Sha1,
        Digest::Sha256,
        Digest::Sha384,
        Digest::Sha512,
    ];
    let mut all = Vec::new();
    for cipher in Cipher::all() {
        match cipher.is_aead() {
            true => all.push(Suite {
                cipher,
                digest: Digest::None,
            }),
            false => all.extend(digests.map(|digest| Suite { cipher, digest })),
        }
    }
    all
}

/// Returns a packet with room around a payload, and its layout.
fn with_room(sending: &Sending, payload: &[u8]) -> (Vec<u8>, Layout) {
    let layout = sending.layout(payload);
    let bytes = [&vec![0; layout.front], payload, &vec![0; layout.back]].concat();
    (bytes, layout)
}

fn seal(sending: &Sending, payloads: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut packets: Vec<_> = { payloads.iter() }
        .map(|payload| with_room(sending, payload))
        .collect();
    let mut outgoing: Vec<_> = { packets.iter_mut() }
        .map(|(bytes, layout)| Outgoing::new(sending, *layout, bytes))
        .collect();
    seal_all(&mut outgoing);
    assert!(outgoing.iter().all(|packet| packet.result == Ok(())));
    packets.into_iter().map(|(bytes, _)| bytes).collect()
}

fn open(receiving: &Receiving, packets: &mut [Vec<u8>]) -> Vec<Result<Opened, Fault>> {
    let mut incoming: Vec<_> = { packets.iter_mut() }
        .map(|bytes| {
            let head = Head::parse(bytes).expect("a data packet");
            Incoming::new(receiving, head, bytes)
        })
        .collect();
    open_all(&mut incoming);
    incoming.into_iter().map(|packet| packet.result).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(digit).collect()
}

#[test]
fn a_ping_has_the_known_ciphertext() {
    let gcm = Suite {
        cipher: Cipher::AesGcm(Bits::B256),
        digest: Digest::None,
    };
    let cbc = Suite {
        cipher: Cipher::AesCbc(Bits::B256),
        digest: Digest::Sha1,
    };
    let v2 = "4800000100000001667d170c9b7785c79bcf0ce8624e4363f415e07d49a1c39065590f58c5c51b14";
    let v1 = "3000000001bddacf60cb55410094dfd74236e1f160f415e07d49a1c39065590f58c5c51b14";
    let chained = "30aea978a3f6222fbb000791471843d13972cbf6c5000102030405060708090a0b0c0d0e0f\
                   f18c02007934e416d62c060cce74ad55c4be2aff97801dd755634981417c555a";
    for (suite, peer_id, wanted) in [(gcm, Some(1), v2), (gcm, None, v1), (cbc, None, chained)] {
        let [client, server] = keys(suite, peer_id, Framing::None);
        let sending = Sending::new(&client, &mut Rng::seeded(1)).expect("a key");
        if suite == gcm {
            assert_eq!(seal(&sending, &[PING.to_vec()]), [hex(wanted)]);
        }
        let receiving = Receiving::new(&server).expect("a key");
        let mut packets = [hex(wanted)];
        assert_eq!(open(&receiving, &mut packets), [Ok(Opened::Ping)]);
    }
}

#[test]
fn packets_of_every_suite_head_and_framing_arrive_once_and_unchanged() {
    let framings = [
        Framing::None,
        Framing::Stub,
        Framing::StubSwap,
        Framing::StubV2,
    ];
    for suite in suites() {
        for (at, framing) in framings.into_iter().enumerate() {
            for peer_id in [None, Some(0xab_cdef)] {
                let [client, server] = keys(suite, peer_id, framing);
                let sending = Sending::new(&client, &mut Rng::seeded(1)).expect("a key");
                let receiving = Receiving::new(&server).expect("a key");
                // Single packets, few and many, with a first byte that looks like a header.
                for count in [1, 3, 5, 40] {
                    let payloads: Vec<Vec<u8>> = (0..count)
                        .map(|n| [vec![0x50; n % 2], vec![n as u8; 17 * n + at + 1]].concat())
                        .collect();
                    let sealed = seal(&sending, &payloads);
                    let mut packets = sealed.clone();
                    let opened = open(&receiving, &mut packets);
                    for ((packet, opened), payload) in packets.iter().zip(opened).zip(&payloads) {
                        let Ok(Opened::Payload(at)) = opened else {
                            panic!("{suite:?} {framing:?}: {opened:?}");
                        };
                        assert_eq!(packet[at], payload[..], "{suite:?} {framing:?}");
                    }
                    let again = open(&receiving, &mut sealed.clone());
                    assert!(again.iter().all(|result| *result == Err(Fault::Replayed)));
                }
                let ends = seal(&sending, &[EXIT.to_vec(), EXIT[..16].to_vec()]);
                let opened = open(&receiving, &mut ends.clone());
                assert_eq!(opened, [Ok(Opened::Exit), Ok(Opened::Options)]);
            }
        }
    }
}

#[test]
fn no_changed_or_cut_packet_is_opened_where_packets_are_authenticated() {
    for suite in suites() {
        let is_authentic = suite.cipher.is_aead() || suite.digest != Digest::None;
        let [client, server] = keys(suite, Some(5), Framing::None);
        let sending = Sending::new(&client, &mut Rng::seeded(1)).expect("a key");
        let receiving = Receiving::new(&server).expect("a key");
        let packet = seal(&sending, &[vec![0x45; 40]]).remove(0);
        for at in 0..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 0x10;
            // The head of version 2 is authenticated by AEAD ciphers alone.
            let is_covered = at >= 4 || suite.cipher.is_aead();
            if let (true, true, Some(head)) = (is_authentic, is_covered, Head::parse(&changed)) {
                let mut incoming = [Incoming::new(&receiving, head, &mut changed)];
                open_all(&mut incoming);
                assert!(incoming[0].result.is_err(), "{suite:?}: byte {at}");
            }
            let mut cut = packet[..at].to_vec();
            if let Some(head) = Head::parse(&cut) {
                let mut incoming = [Incoming::new(&receiving, head, &mut cut)];
                open_all(&mut incoming);
                assert!(
                    !is_authentic || incoming[0].result.is_err(),
                    "{suite:?}: cut to {at}"
                );
            }
        }
    }
}

#[test]
fn a_batch_of_several_sessions_keeps_each_packets_result() {
    let mut rng = Rng::seeded(1);
    let all: Vec<_> = { suites().into_iter() }
        .map(|suite| {
            let [client, server] = keys(suite, Some(1), Framing::None);
            let sending = Sending::new(&client, &mut rng).expect("a key");
            (sending, Receiving::new(&server).expect("a key"))
        })
        .collect();
    let mut packets: Vec<_> = { all.iter().enumerate() }
        .map(|(at, (sending, _))| with_room(sending, &vec![at as u8; 100 + at]))
        .collect();
    let mut outgoing: Vec<_> = { packets.iter_mut().zip(&all) }
        .map(|((bytes, layout), (sending, _))| Outgoing::new(sending, *layout, bytes))
        .collect();
    seal_all(&mut outgoing);
    let mut incoming: Vec<_> = { packets.iter_mut().zip(&all) }
        .map(|((bytes, _), (_, receiving))| {
            let head = Head::parse(bytes).expect("a data packet");
            Incoming::new(receiving, head, bytes)
        })
        .collect();
    open_all(&mut incoming);
    let ranges: Vec<_> = incoming.into_iter().map(|packet| packet.result).collect();
    for (at, ((bytes, _), range)) in packets.iter().zip(ranges).enumerate() {
        let Ok(Opened::Payload(range)) = range else {
            panic!("{range:?}");
        };
        assert_eq!(bytes[range], vec![at as u8; 100 + at]);
    }
}

#[test]
fn compressed_packets_are_refused_by_name() {
    let suite = Suite {
        cipher: Cipher::AesGcm(Bits::B128),
        digest: Digest::None,
    };
    let [client, _] = keys(suite, None, Framing::None);
    let [_, server] = keys(suite, None, Framing::Stub);
    let sending = Sending::new(&client, &mut Rng::seeded(1)).expect("a key");
    let receiving = Receiving::new(&server).expect("a key");
    let mut packets = seal(&sending, &[vec![0x66, 1, 2], vec![0x69, 1], vec![0x45, 1]]);
    let opened = open(&receiving, &mut packets);
    let refused = Err(Fault::Compressed);
    assert_eq!(opened, [refused.clone(), refused, Err(Fault::Malformed)]);
}

#[test]
fn a_key_ends_with_its_packet_ids() {
    let suite = Suite {
        cipher: Cipher::AesGcm(Bits::B128),
        digest: Digest::None,
    };
    let [client, _] = keys(suite, None, Framing::None);
    let sending = Sending::new(&client, &mut Rng::seeded(1)).expect("a key");
    assert!(!sending.is_exhausted());
    sending.skip_to(u64::from(u32::MAX) - 1);
    assert!(sending.is_exhausted());
    seal(&sending, &[vec![1]]);
    for _ in 0..2 {
        let (mut bytes, layout) = with_room(&sending, &[1]);
        let mut outgoing = [Outgoing::new(&sending, layout, &mut bytes)];
        seal_all(&mut outgoing);
        assert_eq!(outgoing[0].result, Err(Fault::Exhausted));
    }
}
