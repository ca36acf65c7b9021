//! Ciphers, applied to the packets of one association.

mod aead;
mod cbc;
mod ctr;
mod fused;
mod gcm;
mod wide;

use aes::{Aes128, Aes192, Aes256};
use blowfish::Blowfish;
use camellia::{Camellia128, Camellia192, Camellia256};
use cipher::consts::U16;
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, Key, KeyInit};
use des::{Des, TdesEde3};
use twofish::Twofish;

use aead::ChaCha;
use ctr::First;
use fused::Fused;
use gcm::Gcm;
use wide::Wide;

use crate::association::{HEADER_BYTES, Shared};
use crate::suite::{Bits, Encryption};
use crate::work::{Work, runs};

/// Key schedule; dropping wipes it.
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
    Cbc(Box<Wide>),
    Ctr(Box<Wide>, Salt),
    Fused(Box<Fused>),
    Gcm(Box<Gcm<Wide>>),
    Gcm128(Box<Gcm<Aes128>>),
    Gcm192(Box<Gcm<Aes192>>),
    Gcm256(Box<Gcm<Aes256>>),
    ChaCha20Poly1305(Box<ChaCha>),
}

/// Part of the nonce that comes with the key.
pub(crate) type Salt = [u8; 4];

/// Panic message for key lengths, which [`Keys`](crate::Keys) has checked.
const CHECKED: &str = "the length of the key was checked";

impl Cipher {
    /// Creates the key schedule. `key` has the length of the algorithm, with its salt at the end.
    pub(crate) fn new(encryption: Encryption, key: &[u8]) -> Self {
        let (key, salt) = key.split_at(key.len() - encryption.salt_len());
        let salt = salt.try_into().unwrap_or_default();
        if let Encryption::AesGcm(_) = encryption
            && let Some(fused) = Fused::new(key, salt)
        {
            return Self::Fused(fused);
        }
        let wide = match encryption {
            Encryption::AesCbc(_) | Encryption::AesCtr(_) | Encryption::AesGcm(_) => Wide::new(key),
            _ => None,
        };
        match (encryption, wide) {
            (Encryption::AesCbc(_), Some(wide)) => Self::Cbc(wide),
            (Encryption::AesCtr(_), Some(wide)) => Self::Ctr(wide, salt),
            (Encryption::AesGcm(_), Some(wide)) => Self::Gcm(Box::new(Gcm::new(*wide, salt))),
            _ => Self::portable(encryption, key, salt),
        }
    }

    /// Creates the key schedule of the portable implementation.
    fn portable(encryption: Encryption, key: &[u8], salt: Salt) -> Self {
        match encryption {
            Encryption::Null => Self::Null,
            Encryption::Des => Self::Des(schedule(key)),
            Encryption::TripleDes => Self::TripleDes(schedule(key)),
            Encryption::Blowfish => Self::Blowfish(schedule(key)),
            Encryption::Twofish => Self::Twofish(schedule(key)),
            Encryption::AesCbc(Bits::B128) => Self::Aes128(schedule(key)),
            Encryption::AesCbc(Bits::B192) => Self::Aes192(schedule(key)),
            Encryption::AesCbc(Bits::B256) => Self::Aes256(schedule(key)),
            Encryption::Camellia(Bits::B128) => Self::Camellia128(schedule(key)),
            Encryption::Camellia(Bits::B192) => Self::Camellia192(schedule(key)),
            Encryption::Camellia(Bits::B256) => Self::Camellia256(schedule(key)),
            Encryption::AesCtr(Bits::B128) => Self::Ctr128(schedule(key), salt),
            Encryption::AesCtr(Bits::B192) => Self::Ctr192(schedule(key), salt),
            Encryption::AesCtr(Bits::B256) => Self::Ctr256(schedule(key), salt),
            Encryption::AesGcm(Bits::B128) => Self::Gcm128(gcm(key, salt)),
            Encryption::AesGcm(Bits::B192) => Self::Gcm192(gcm(key, salt)),
            Encryption::AesGcm(Bits::B256) => Self::Gcm256(gcm(key, salt)),
            Encryption::ChaCha20Poly1305 => Self::ChaCha20Poly1305(ChaCha::new(key, salt)),
        }
    }

    /// Encrypts the bytes between initialization vector and ICV, which are whole blocks, of packets with equal
    /// algorithms. `own` returns the cipher of an association.
    pub(crate) fn encrypt<'p, S, O>(
        &self,
        own: impl Fn(&'p S) -> &'p Self,
        work: &mut [Work<'p, S, O>],
    ) {
        if let Self::Cbc(_) = self {
            return Wide::chain(|sa| own(sa).cbc(), work);
        }
        for run in runs(work) {
            if let Some(first) = run.first() {
                own(first.sa).encrypt_alike(run);
            }
        }
    }

    /// Encrypts the packets of one association.
    fn encrypt_alike<S, O>(&self, work: &mut [Work<'_, S, O>]) {
        match self {
            Self::Null | Self::Cbc(_) => {}
            Self::Gcm(_) | Self::Gcm128(_) | Self::Gcm192(_) | Self::Gcm256(_) => {}
            Self::Fused(_) | Self::ChaCha20Poly1305(..) => {}
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
            Self::Ctr(wide, salt) => wide.count(salt, work),
            Self::Ctr128(cipher, salt) => ctr::apply(&**cipher, salt, First::Text, work),
            Self::Ctr192(cipher, salt) => ctr::apply(&**cipher, salt, First::Text, work),
            Self::Ctr256(cipher, salt) => ctr::apply(&**cipher, salt, First::Text, work),
        }
    }

    fn cbc(&self) -> Option<&Wide> {
        match self {
            Self::Cbc(wide) => Some(wide),
            _ => None,
        }
    }

    /// Decrypts packets with equal algorithms; skips packets with a fault. `own` returns the cipher of an association.
    pub(crate) fn decrypt<'p, S, O>(
        &self,
        own: impl Fn(&'p S) -> &'p Self,
        work: &mut [Work<'p, S, O>],
    ) {
        if let Self::Cbc(_) = self {
            return Wide::unchain(|sa| own(sa).cbc(), work);
        }
        for run in runs(work) {
            if let Some(first) = run.first() {
                own(first.sa).decrypt_alike(run);
            }
        }
    }

    /// Decrypts the packets of one association.
    fn decrypt_alike<S, O>(&self, work: &mut [Work<'_, S, O>]) {
        match self {
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
            // Counter mode is its own inverse; AEAD ciphers decrypt during verification.
            _ => self.encrypt_alike(work),
        }
    }

    /// Encrypts packets with AEAD ciphers and writes their ICVs; a failure becomes a fault.
    pub(crate) fn lock<S: AsRef<Shared>, O>(work: &mut [Work<'_, S, O>]) {
        for alike in work.chunk_by_mut(processed_together) {
            let Some(shared) = alike.first().map(|packet| packet.sa.as_ref()) else {
                continue;
            };
            match &shared.cipher {
                Self::Fused(_) => fused::lock(own_fused, alike),
                Self::Gcm(gcm) => gcm.lock(shared, alike),
                Self::Gcm128(gcm) => gcm.lock(shared, alike),
                Self::Gcm192(gcm) => gcm.lock(shared, alike),
                Self::Gcm256(gcm) => gcm.lock(shared, alike),
                Self::ChaCha20Poly1305(key) => key.lock(shared, alike),
                _ => {}
            }
        }
    }

    /// Decrypts packets with AEAD ciphers; a wrong ICV becomes a fault.
    pub(crate) fn unlock<S: AsRef<Shared>, O>(work: &mut [Work<'_, S, O>]) {
        for alike in work.chunk_by_mut(processed_together) {
            let Some(shared) = alike.first().map(|packet| packet.sa.as_ref()) else {
                continue;
            };
            match &shared.cipher {
                Self::Fused(_) => fused::unlock(own_fused, alike),
                Self::Gcm(gcm) => gcm.unlock(shared, alike),
                Self::Gcm128(gcm) => gcm.unlock(shared, alike),
                Self::Gcm192(gcm) => gcm.unlock(shared, alike),
                Self::Gcm256(gcm) => gcm.unlock(shared, alike),
                Self::ChaCha20Poly1305(key) => key.unlock(shared, alike),
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn fused(&self) -> Option<&Fused> {
        match self {
            Self::Fused(fused) => Some(fused),
            _ => None,
        }
    }

    /// Prefetches the key schedule for a text of `len` bytes, if packets of different associations are processed
    /// together.
    #[inline(always)]
    pub(crate) fn prefetch(&self, len: usize) {
        if let Self::Fused(fused) = self {
            fused.prefetch(len);
        }
    }

    /// Returns true for AEAD ciphers: packets of different associations gain nothing from being sorted, so they keep
    /// their order.
    pub(crate) const fn keeps_order(&self) -> bool {
        matches!(
            self,
            Self::Fused(_)
                | Self::Gcm(_)
                | Self::Gcm128(_)
                | Self::Gcm192(_)
                | Self::Gcm256(_)
                | Self::ChaCha20Poly1305(..)
        )
    }
}

/// Returns the key of an association whose packets [`processed_together`] has accepted.
#[inline(always)]
fn own_fused<S: AsRef<Shared>>(sa: &S) -> &Fused {
    let fused = sa.as_ref().cipher.fused();
    fused.expect("packets that are processed together have the cipher")
}

/// Returns true if an AEAD cipher processes both packets in one call.
#[inline(always)]
fn processed_together<S: AsRef<Shared>, O>(one: &Work<'_, S, O>, other: &Work<'_, S, O>) -> bool {
    let is_fused = |work: &Work<'_, S, O>| work.sa.as_ref().cipher.fused().is_some();
    core::ptr::eq(one.sa, other.sa) || is_fused(one) && is_fused(other)
}

/// Additional authenticated data of an AEAD cipher: SPI and sequence number, of 64 bits if extended (RFC 4106,
/// 5).
struct Additional {
    bytes: [u8; 16],
    len: usize,
}

impl Additional {
    fn of(packet: &[u8], implied: Option<[u8; 4]>) -> Self {
        let (block, len) = Self::block(packet, implied);
        Self {
            bytes: block.to_be_bytes(),
            len,
        }
    }

    /// Returns the data as the highest bytes of a number, and their length.
    #[inline(always)]
    fn block(packet: &[u8], implied: Option<[u8; 4]>) -> (u128, usize) {
        let header = packet.first_chunk::<HEADER_BYTES>().copied();
        let header = u64::from_be_bytes(header.unwrap_or_default());
        let (spi, low) = (u128::from(header >> 32), u128::from(header as u32));
        match implied {
            None => (spi << 96 | low << 64, 8),
            Some(high) => {
                let high = u128::from(u32::from_be_bytes(high));
                (spi << 96 | high << 64 | low << 32, 12)
            }
        }
    }

    /// Returns the GHASH blocks beside the text: additional data padded with zeros, and both lengths in bits.
    #[inline(always)]
    fn blocks<S, O>(shared: &Shared, packet: &Work<'_, S, O>) -> (u128, u128) {
        let (block, len) = Self::block(packet.bytes, shared.implied(packet.number));
        let bits = |bytes: usize| 8 * bytes as u64;
        let lengths = u128::from(bits(len)) << 64 | u128::from(bits(packet.text_len()));
        (block, lengths)
    }
}

impl AsRef<[u8]> for Additional {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Creates the key schedule of a block cipher.
fn schedule<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(key: &[u8]) -> Box<C> {
    Box::new(C::new_from_slice(key).expect(CHECKED))
}

fn gcm<C: KeyInit + BlockCipherEncrypt<BlockSize = U16>>(key: &[u8], salt: Salt) -> Box<Gcm<C>> {
    let key: &Key<C> = key.try_into().expect(CHECKED);
    Box::new(Gcm::new(C::new(key), salt))
}

#[cfg(test)]
mod tests;
