//! Password hashes: salted and slow (scrypt, RFC 7914), so that a stolen hash is of little use.

use std::fmt::Write as _;

use menu::{Reason, Store};
use scrypt::Params;
use subtle::ConstantTimeEq as _;

/// Length of a salt in bytes.
pub const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Cost: 16 MB and tens of milliseconds of CPU time per guess.
const LOG_N: u8 = 14;
const BLOCKS: u32 = 8;

/// Maximum password length in bytes.
pub const LONGEST: usize = 255;

/// Letters of generated passwords, without similar ones.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz23456789A";

/// Hashes a password with this salt.
pub fn seal(password: &str, salt: [u8; SALT_BYTES]) -> String {
    let mut seal = format!("$scrypt${LOG_N}${BLOCKS}$");
    push_hex(&salt, &mut seal);
    seal.push('$');
    push_hex(&hash(password.as_bytes(), &salt), &mut seal);
    seal
}

/// Verifies a password. An invalid hash takes the same time.
pub fn opens(seal: &str, password: &[u8]) -> bool {
    let parts = parse(seal);
    let (salt, sealed) = parts.unwrap_or(([0; SALT_BYTES], [0; HASH_BYTES]));
    let same = hash(password, &salt).ct_eq(&sealed);
    bool::from(same) && parts.is_some() && !password.is_empty() && password.len() <= LONGEST
}

/// Generates a password from random bytes, five bits per letter.
pub fn from_random(bytes: &[u8]) -> String {
    let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
    bytes.iter().map(letter).collect()
}

/// Checks a password against `/user/settings`.
///
/// # Errors
/// Returns which requirement is not met.
pub fn check(store: &Store, password: &str) -> Result<(), Reason> {
    let least = |name| {
        let settings = store.settings("/user/settings");
        settings
            .and_then(|settings| settings.number(name))
            .unwrap_or(0)
    };
    if password.len() > LONGEST {
        return Err(Reason::failure("password too long"));
    }
    if (password.chars().count() as i64) < least("minimum-password-length") {
        return Err(Reason::failure("password too short"));
    }
    let kinds: [fn(char) -> bool; 4] = [
        |c| c.is_lowercase(),
        |c| c.is_uppercase(),
        |c| c.is_ascii_digit(),
        |c| !c.is_alphanumeric(),
    ];
    let found = kinds.iter().filter(|is| password.chars().any(**is)).count();
    if (found as i64) < least("minimum-categories") {
        return Err(Reason::failure("password too simple"));
    }
    Ok(())
}

fn hash(password: &[u8], salt: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    // A longer password is truncated here and rejected by `opens`.
    let password = password.get(..LONGEST).unwrap_or(password);
    let params = Params::new(LOG_N, BLOCKS, 1);
    let made = params
        .ok()
        .and_then(|params| scrypt::scrypt(password, salt, &params, &mut hash).ok());
    debug_assert!(made.is_some(), "the parameters are constants in range");
    hash
}

fn parse(seal: &str) -> Option<([u8; SALT_BYTES], [u8; HASH_BYTES])> {
    let rest = seal.strip_prefix(&format!("$scrypt${LOG_N}${BLOCKS}$"))?;
    let (salt, hash) = rest.split_once('$')?;
    Some((from_hex(salt)?, from_hex(hash)?))
}

fn push_hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hashed_password_verifies() {
        let seal = seal("correct horse", [7; SALT_BYTES]);

        assert!(opens(&seal, b"correct horse"));
        assert!(!opens(&seal, b"correct horsf"));
        assert!(!opens(&seal, b""));
        assert!(!seal.contains("horse"));
    }

    #[test]
    fn a_malformed_hash_never_verifies() {
        let whole = seal("x", [1; SALT_BYTES]);
        for bad in [
            "",
            "!",
            "x",
            "$scrypt$14$8$00$11",
            &whole[..whole.len() - 1],
        ] {
            assert!(!opens(bad, b"x"), "{bad}");
        }
    }

    #[test]
    fn equal_passwords_have_different_hashes() {
        assert_ne!(seal("x", [1; SALT_BYTES]), seal("x", [2; SALT_BYTES]));
    }

    #[test]
    fn a_generated_password_has_one_letter_per_byte() {
        let made = from_random(&[0, 31, 32, 255]);

        assert_eq!(made, "aAaA");
    }

    #[test]
    fn password_settings_are_enforced() {
        let mut store = schema::store();
        let menu = store.menu("/user/settings").expect("the menu");
        let mark = store.begin();
        let number = |number| Some(menu::Value::Number(number));
        let given = [
            ("minimum-password-length", number(8)),
            ("minimum-categories", number(3)),
        ];
        store
            .set(menu, menu::Id::SETTINGS, &given)
            .expect("in range");
        store.commit(mark).expect("nothing is journaled");

        assert!(check(&store, "Ab1xyz").is_err());
        assert!(check(&store, "abcdefgh1").is_err());
        assert_eq!(check(&store, "Abcdefgh1"), Ok(()));
    }
}
