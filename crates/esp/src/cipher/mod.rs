//! Ciphers over the packets of one association.

mod aead;
mod cbc;
mod ctr;

use aes::{Aes128, Aes192, Aes256};
use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Algorithm, CHACHA20_POLY1305, LessSafeKey, UnboundKey,
};
use blowfish::Blowfish;
use camellia::{Camellia128, Camellia192, Camellia256};
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, Key, KeyInit};
use des::{Des, TdesEde3};
use twofish::Twofish;

use crate::suite::{Bits, Encryption};
use crate::work::Work;

/// Key schedules. Wiped when dropped.
pub(crate) enum Cipher {
    Null,
    Des(Box<Des>),
    TripleDes(Box<TdesEde3>),
    Blowfish(Box<Blowfish>),
    Twofish(Box<Twofish>),
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
    Camellia128(Box<Camellia128>),
    Camellia192(Box<Camellia192>),
    Camellia256(Box<Camellia256>),
    Ctr128(Box<Aes128>, Salt),
    Ctr192(Box<Aes192>, Salt),
    Ctr256(Box<Aes256>, Salt),
    Aead(Box<LessSafeKey>, Salt),
}

/// The part of a nonce that comes with the key.
pub(crate) type Salt = [u8; 4];

/// Why the length of a key fits.
const CHECKED: &str = "the length of the key was checked";

impl Cipher {
    /// `key` has the length of the algorithm, its salt at the end.
    pub(crate) fn new(encryption: Encryption, key: &[u8]) -> Self {
        let (key, salt) = key.split_at(key.len() - encryption.salt_len());
        let salt = salt.try_into().unwrap_or_default();
        match encryption {
            Encryption::Null => Self::Null,
            Encryption::Des => Self::Des(schedule(key)),
            Encryption::TripleDes => Self::TripleDes(schedule(key)),
            Encryption::Blowfish => Self::Blowfish(schedule(key)),
            Encryption::Twofish => {
                Self::Twofish(Box::new(Twofish::new_from_slice(key).expect(CHECKED)))
            }
            Encryption::AesCbc(Bits::B128) => Self::Aes128(schedule(key)),
            Encryption::AesCbc(Bits::B192) => Self::Aes192(schedule(key)),
            Encryption::AesCbc(Bits::B256) => Self::Aes256(schedule(key)),
            Encryption::Camellia(Bits::B128) => Self::Camellia128(schedule(key)),
            Encryption::Camellia(Bits::B192) => Self::Camellia192(schedule(key)),
            Encryption::Camellia(Bits::B256) => Self::Camellia256(schedule(key)),
            Encryption::AesCtr(Bits::B128) => Self::Ctr128(schedule(key), salt),
            Encryption::AesCtr(Bits::B192) => Self::Ctr192(schedule(key), salt),
            Encryption::AesCtr(Bits::B256) => Self::Ctr256(schedule(key), salt),
            Encryption::AesGcm(Bits::B128) => Self::Aead(aead(&AES_128_GCM, key), salt),
            Encryption::AesGcm(Bits::B192) => Self::Aead(aead(&AES_192_GCM, key), salt),
            Encryption::AesGcm(Bits::B256) => Self::Aead(aead(&AES_256_GCM, key), salt),
            Encryption::ChaCha20Poly1305 => Self::Aead(aead(&CHACHA20_POLY1305, key), salt),
        }
    }

    /// Encrypts what the packets have between vector and ICV, which is whole blocks.
    pub(crate) fn encrypt<S, O>(&self, work: &mut [Work<'_, S, O>]) {
        match self {
            Self::Null | Self::Aead(..) => {}
            Self::Des(cipher) => cbc::encrypt(&**cipher, work),
            Self::TripleDes(cipher) => cbc::encrypt(&**cipher, work),
            Self::Blowfish(cipher) => cbc::encrypt(&**cipher, work),
            Self::Twofish(cipher) => cbc::encrypt(&**cipher, work),
            Self::Aes128(cipher) => cbc::encrypt(&**cipher, work),
            Self::Aes192(cipher) => cbc::encrypt(&**cipher, work),
            Self::Aes256(cipher) => cbc::encrypt(&**cipher, work),
            Self::Camellia128(cipher) => cbc::encrypt(&**cipher, work),
            Self::Camellia192(cipher) => cbc::encrypt(&**cipher, work),
            Self::Camellia256(cipher) => cbc::encrypt(&**cipher, work),
            Self::Ctr128(cipher, salt) => ctr::apply(&**cipher, salt, work),
            Self::Ctr192(cipher, salt) => ctr::apply(&**cipher, salt, work),
            Self::Ctr256(cipher, salt) => ctr::apply(&**cipher, salt, work),
        }
    }

    /// Decrypts what [`Cipher::encrypt`] encrypts; packets with a fault are left alone.
    pub(crate) fn decrypt<S, O>(&self, work: &mut [Work<'_, S, O>]) {
        match self {
            Self::Null | Self::Aead(..) => {}
            Self::Des(cipher) => cbc::decrypt(&**cipher, work),
            Self::TripleDes(cipher) => cbc::decrypt(&**cipher, work),
            Self::Blowfish(cipher) => cbc::decrypt(&**cipher, work),
            Self::Twofish(cipher) => cbc::decrypt(&**cipher, work),
            Self::Aes128(cipher) => cbc::decrypt(&**cipher, work),
            Self::Aes192(cipher) => cbc::decrypt(&**cipher, work),
            Self::Aes256(cipher) => cbc::decrypt(&**cipher, work),
            Self::Camellia128(cipher) => cbc::decrypt(&**cipher, work),
            Self::Camellia192(cipher) => cbc::decrypt(&**cipher, work),
            Self::Camellia256(cipher) => cbc::decrypt(&**cipher, work),
            Self::Ctr128(cipher, salt) => ctr::apply(&**cipher, salt, work),
            Self::Ctr192(cipher, salt) => ctr::apply(&**cipher, salt, work),
            Self::Ctr256(cipher, salt) => ctr::apply(&**cipher, salt, work),
        }
    }

    /// Encrypts a packet with an AEAD and writes its ICV; a failure is a fault of the packet.
    pub(crate) fn lock<S, O>(&self, work: &mut Work<'_, S, O>, implied: Option<[u8; 4]>) {
        if let Self::Aead(key, salt) = self {
            aead::lock(key, salt, work, implied);
        }
    }

    /// Decrypts a packet with an AEAD, if its ICV is right; otherwise it has a fault.
    pub(crate) fn unlock<S, O>(&self, work: &mut Work<'_, S, O>, implied: Option<[u8; 4]>) {
        if let Self::Aead(key, salt) = self {
            aead::unlock(key, salt, work, implied);
        }
    }

    /// Whether packets are authenticated by it.
    pub(crate) const fn is_aead(&self) -> bool {
        matches!(self, Self::Aead(..))
    }
}

/// What a cipher of blocks does with its key beforehand.
fn schedule<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(key: &[u8]) -> Box<C> {
    let key: &Key<C> = key.try_into().expect(CHECKED);
    Box::new(C::new(key))
}

fn aead(algorithm: &'static Algorithm, key: &[u8]) -> Box<LessSafeKey> {
    let key = UnboundKey::new(algorithm, key).expect(CHECKED);
    Box::new(LessSafeKey::new(key))
}

#[cfg(test)]
#[path = "../tests/cipher.rs"]
mod tests;
