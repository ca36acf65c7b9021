//! User-based security of SNMPv3: keys, digests and ciphers (RFC 3414; RFC 3826 for AES).

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use sha1::{Digest, Sha1};

/// Length of a digest in a message.
pub const DIGEST: usize = 12;
/// Length of a cipher key, including the material for initialization vectors.
const KEY: usize = 16;
/// Block length of the hashes (RFC 2104).
const BLOCK: usize = 64;
/// Length to which a password is repeated for its key (RFC 3414, A.2).
const STRETCH: usize = 1 << 20;

/// Authentication protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// HMAC-MD5-96.
    Md5,
    /// HMAC-SHA-96.
    Sha1,
}

/// Privacy protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// CBC-DES.
    Des,
    /// CFB128-AES-128.
    Aes,
}

impl Hash {
    fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Md5 => {
                let mut hash = md5::Context::new();
                parts.iter().for_each(|part| hash.consume(part));
                hash.finalize().0.to_vec()
            }
            Self::Sha1 => {
                let mut hash = Sha1::new();
                parts.iter().for_each(|part| hash.update(part));
                hash.finalize().to_vec()
            }
        }
    }

    /// Localized key of a password for an engine (RFC 3414, 2.6 and A.2). Takes milliseconds.
    pub fn key(self, password: &str, engine: &[u8]) -> Vec<u8> {
        let password = password.as_bytes();
        if password.is_empty() {
            return Vec::new();
        }
        let stretched: Vec<u8> = { password.iter().copied().cycle() }.take(STRETCH).collect();
        let key = self.of(&[&stretched]);
        self.of(&[&key, engine, &key])
    }

    /// Digest of a message, given as the parts before, in and after the digest field (RFC 2104).
    pub fn digest(self, key: &[u8], parts: [&[u8]; 3]) -> [u8; DIGEST] {
        let pad = |with: u8| {
            let mut pad = [with; BLOCK];
            for (byte, key) in pad.iter_mut().zip(key) {
                *byte ^= key;
            }
            pad
        };
        let [before, own, behind] = parts;
        let inner = self.of(&[&pad(0x36), before, own, behind]);
        let outer = self.of(&[&pad(0x5c), &inner]);
        let mut digest = [0; DIGEST];
        digest.copy_from_slice(&outer[..DIGEST]);
        digest
    }
}

/// Parameters of the initialization vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// Boots of the authoritative engine.
    pub boots: u32,
    /// Time of the authoritative engine in seconds.
    pub time: u32,
    /// Salt (`msgPrivacyParameters`); never repeats.
    pub salt: [u8; 8],
}

impl Cipher {
    /// Encrypts data; `None` if the key is too short.
    pub fn encrypt(self, key: &[u8], occasion: &Occasion, data: &[u8]) -> Option<Vec<u8>> {
        let key: &[u8; KEY] = key.first_chunk()?;
        let mut data = data.to_vec();
        match self {
            Self::Des => {
                data.resize(data.len().next_multiple_of(8), 0);
                let (cipher, mut before) = des(key, occasion)?;
                for block in data.chunks_exact_mut(8) {
                    xor(block, &before);
                    let mut whole = <[u8; 8]>::try_from(&*block).ok()?.into();
                    cipher.encrypt_block(&mut whole);
                    block.copy_from_slice(&whole);
                    before.copy_from_slice(&whole);
                }
            }
            Self::Aes => aes(key, occasion, &mut data, true)?,
        }
        Some(data)
    }

    /// Decrypts data; `None` if key or data have an invalid length.
    pub fn decrypt(self, key: &[u8], occasion: &Occasion, data: &[u8]) -> Option<Vec<u8>> {
        let key: &[u8; KEY] = key.first_chunk()?;
        let mut data = data.to_vec();
        match self {
            Self::Des => {
                if !data.len().is_multiple_of(8) {
                    return None;
                }
                let (cipher, mut before) = des(key, occasion)?;
                for block in data.chunks_exact_mut(8) {
                    let coded = <[u8; 8]>::try_from(&*block).ok()?;
                    let mut whole = coded.into();
                    cipher.decrypt_block(&mut whole);
                    block.copy_from_slice(&whole);
                    xor(block, &before);
                    before = coded;
                }
            }
            Self::Aes => aes(key, occasion, &mut data, false)?,
        }
        Some(data)
    }
}

fn xor(block: &mut [u8], with: &[u8]) {
    for (byte, with) in block.iter_mut().zip(with) {
        *byte ^= with;
    }
}

/// DES cipher and initialization vector (RFC 3414, 8.1.1.1).
fn des(key: &[u8; KEY], occasion: &Occasion) -> Option<(des::Des, [u8; 8])> {
    let (key, vector) = key.split_first_chunk::<8>()?;
    let mut before = occasion.salt;
    xor(&mut before, vector);
    Some((des::Des::new(&(*key).into()), before))
}

/// Encrypts or decrypts in place (RFC 3826, 3.1.2.1).
fn aes(key: &[u8; KEY], occasion: &Occasion, data: &mut [u8], encrypts: bool) -> Option<()> {
    let cipher = aes::Aes128::new(&(*key).into());
    let mut before = [0; 16];
    before[..4].copy_from_slice(&occasion.boots.to_be_bytes());
    before[4..8].copy_from_slice(&occasion.time.to_be_bytes());
    before[8..].copy_from_slice(&occasion.salt);
    for block in data.chunks_mut(16) {
        let mut stream = before.into();
        cipher.encrypt_block(&mut stream);
        let coded = match encrypts {
            true => {
                xor(block, &stream);
                block.to_vec()
            }
            false => {
                let coded = block.to_vec();
                xor(block, &stream);
                coded
            }
        };
        before[..coded.len()].copy_from_slice(&coded);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let bytes = text.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
        bytes.filter_map(byte).collect()
    }

    /// RFC 3414, A.3.
    #[test]
    fn passwords_give_the_keys_of_the_rfc() {
        let engine = hex("000000000000000000000002");
        let md5 = Hash::Md5.key("maplesyrup", &engine);
        assert_eq!(md5, hex("526f5eed9fcce26f8964c2930787d82b"));
        let sha = Hash::Sha1.key("maplesyrup", &engine);
        assert_eq!(sha, hex("6695febc9288e36282235fc7151f128497b38f3f"));
        assert!(Hash::Md5.key("", &engine).is_empty());
    }

    /// RFC 2202, 2 and 3, truncated to 96 bits.
    #[test]
    fn digests_are_those_of_the_rfc() {
        let digest =
            |hash: Hash, key: &[u8]| hash.digest(key, [b"what do ya want ", b"for ", b"nothing?"]);
        assert_eq!(
            digest(Hash::Md5, b"Jefe")[..],
            hex("750c783e6ab0b503eaa86e31")
        );
        assert_eq!(
            digest(Hash::Sha1, b"Jefe")[..],
            hex("effcdf6ae5eb2fa2d27416d5")
        );
    }

    #[test]
    fn a_message_decrypts_only_with_its_key_boots_and_time() {
        let key = hex("000102030405060708090a0b0c0d0e0f");
        let occasion = Occasion {
            boots: 7,
            time: 1_000,
            salt: *b"saltsalt",
        };
        for cipher in [Cipher::Des, Cipher::Aes] {
            let coded = cipher.encrypt(&key, &occasion, b"of no whole length");
            let coded = coded.expect("a key");
            assert_ne!(&coded[..8], b"of no wh");
            let plain = cipher.decrypt(&key, &occasion, &coded).expect("whole");
            assert_eq!(&plain[..18], b"of no whole length");
            let other = Occasion {
                salt: *b"saltsal_",
                ..occasion
            };
            let wrong = cipher.decrypt(&key, &other, &coded).expect("whole");
            assert_ne!(plain, wrong);
            assert_eq!(cipher.decrypt(&key[..8], &occasion, &coded), None);
        }
        assert_eq!(Cipher::Des.decrypt(&key, &occasion, &[0; 7]), None);
    }
}
