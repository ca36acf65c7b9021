//! MD5 authentication of RouterOS before 6.43: MD5 over the password and a hash of password and challenge.
//!
//! An eavesdropper can test passwords against a captured answer; EC-SRP5 prevents that ([`crate::srp`]).

use subtle::ConstantTimeEq;

use crate::wire::CHALLENGE_LEN;

/// Length of the digest.
const DIGEST_LEN: usize = 16;
/// Length of a user name on the wire, padded with zeros.
const NAME_LEN: usize = 32;
/// Length of a client's answer: digest and name.
pub const ANSWER_LEN: usize = DIGEST_LEN + NAME_LEN;

/// A client's answer to a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    digest: [u8; DIGEST_LEN],
    name: [u8; NAME_LEN],
}

impl Answer {
    /// Computes the answer; `None` if the name has more than 32 bytes.
    pub fn new(user: &str, password: &str, challenge: &[u8; CHALLENGE_LEN]) -> Option<Self> {
        let mut name = [0; NAME_LEN];
        name.get_mut(..user.len())?.copy_from_slice(user.as_bytes());
        Some(Self {
            digest: digest(password, challenge),
            name,
        })
    }

    /// Decodes an answer.
    pub fn parse(bytes: &[u8; ANSWER_LEN]) -> Self {
        let mut answer = Self {
            digest: [0; DIGEST_LEN],
            name: [0; NAME_LEN],
        };
        answer.digest.copy_from_slice(&bytes[..DIGEST_LEN]);
        answer.name.copy_from_slice(&bytes[DIGEST_LEN..]);
        answer
    }

    /// Encodes the answer.
    pub fn to_bytes(&self) -> [u8; ANSWER_LEN] {
        let mut bytes = [0; ANSWER_LEN];
        bytes[..DIGEST_LEN].copy_from_slice(&self.digest);
        bytes[DIGEST_LEN..].copy_from_slice(&self.name);
        bytes
    }

    /// Returns the user name up to the first zero; `None` if it is not UTF-8.
    pub fn user(&self) -> Option<&str> {
        let end = self.name.iter().position(|&byte| byte == 0);
        let name = &self.name[..end.unwrap_or(NAME_LEN)];
        core::str::from_utf8(name).ok()
    }

    /// Verifies a password in constant time.
    pub fn proves(&self, password: &str, challenge: &[u8; CHALLENGE_LEN]) -> bool {
        self.digest.ct_eq(&digest(password, challenge)).into()
    }
}

fn digest(password: &str, challenge: &[u8; CHALLENGE_LEN]) -> [u8; DIGEST_LEN] {
    let hash = |end: &[u8]| ::md5::compute([password.as_bytes(), end].concat()).0;
    hash(&hash(challenge))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: [u8; 16] = 0xad32_d6f9_4d28_1616_25f2_f390_bb89_5637_u128.to_be_bytes();

    #[test]
    fn the_captured_digest_comes_of_the_captured_challenge() {
        let digest = digest("test", &CHALLENGE);
        assert_eq!(
            u128::from_be_bytes(digest),
            0x3c96_8565_bc03_14f2_81a6_da15_71cf_7255
        );
    }

    #[test]
    fn an_answer_proves_the_password_and_says_who_gives_it() {
        let answer = Answer::new("admin", "test", &CHALLENGE).expect("a short name");
        let heard = Answer::parse(&answer.to_bytes());
        assert_eq!(heard, answer);
        assert_eq!(heard.user(), Some("admin"));
        assert!(heard.proves("test", &CHALLENGE));
        assert!(!heard.proves("Test", &CHALLENGE));
        assert!(!heard.proves("test", &[0; 16]));
    }

    #[test]
    fn a_name_has_at_most_32_bytes_of_utf8() {
        let longest = "u".repeat(32);
        let answer = Answer::new(&longest, "", &CHALLENGE).expect("it fits");
        assert_eq!(answer.user(), Some(&*longest));
        assert_eq!(Answer::new(&"u".repeat(33), "", &CHALLENGE), None);
        assert_eq!(Answer::parse(&[0xff; ANSWER_LEN]).user(), None);
    }
}
