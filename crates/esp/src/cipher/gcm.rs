//! AES-GCM (RFC 4106): counter mode, and GHASH masked by the first counter block.
//!
//! Libraries process packets one at a time, whose setup costs more than the cipher for short packets; this
//! implementation encrypts the blocks of all packets together. Tests compare it with aws-lc. On processors with
//! wider registers [`super::fused`] replaces it.

use cipher::BlockCipherEncrypt;
use cipher::consts::U16;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::ctr::{self, First};
use super::{Additional, Salt};
use crate::Fault;
use crate::association::Shared;
use crate::work::Work;

/// Cipher, and GHASH key derived from it.
pub(crate) struct Gcm<C> {
    cipher: C,
    hash: Hash,
    salt: Salt,
}

enum Hash {
    /// Processor-specific implementation.
    Wide(Box<kernels::Ghash>),
    Portable(Box<GHash>),
}

impl Drop for Hash {
    fn drop(&mut self) {
        // `GHash` wipes itself.
        if let Self::Wide(hash) = self {
            hash.wipe();
        }
    }
}

/// A cipher in counter mode.
pub(crate) trait Stream {
    /// Returns the encrypted zero block.
    fn hash_key(&self) -> [u8; 16];

    /// XORs the first counter block into the ICV and the others into the text, for packets without a fault.
    fn mix<S, O>(&self, salt: &Salt, work: &mut [Work<'_, S, O>]);
}

impl<C: BlockCipherEncrypt<BlockSize = U16>> Stream for C {
    fn hash_key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        self.encrypt_block((&mut key).into());
        key
    }

    fn mix<S, O>(&self, salt: &Salt, work: &mut [Work<'_, S, O>]) {
        ctr::apply(self, salt, First::Mask, work);
    }
}

impl<C: Stream> Gcm<C> {
    pub(super) fn new(cipher: C, salt: Salt) -> Self {
        let key = Zeroizing::new(cipher.hash_key());
        let hash = match kernels::Ghash::new(&key) {
            Some(hash) => Hash::Wide(Box::new(hash)),
            None => Hash::Portable(Box::new(GHash::new((&*key).into()))),
        };
        Self { cipher, hash, salt }
    }

    /// Encrypts packets and writes their ICVs.
    pub(super) fn lock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for part in work.chunks_mut(CHUNK_PACKETS) {
            for packet in &mut *part {
                packet.icv().fill(0);
            }
            self.cipher.mix(&self.salt, part);
            for packet in part {
                self.add_hash(shared, packet);
            }
        }
    }

    /// Decrypts packets with valid ICVs; the others get a fault and a zeroed text.
    pub(super) fn unlock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for part in work.chunks_mut(CHUNK_PACKETS) {
            for packet in &mut *part {
                self.add_hash(shared, packet);
            }
            self.cipher.mix(&self.salt, part);
            for packet in part {
                // XORing hash and mask into a valid ICV yields zero.
                let left = packet.icv().as_chunks().0.iter();
                let left = left.fold(0, |left, part| left | u64::from_ne_bytes(*part));
                if !bool::from(left.ct_eq(&0)) {
                    packet.fault = Some(Fault::Integrity);
                    packet.text().zeroize();
                }
            }
        }
    }

    /// XORs the GHASH of a packet into its ICV.
    fn add_hash<S, O>(&self, shared: &Shared, packet: &mut Work<'_, S, O>) {
        let (first, last) = Additional::blocks(shared, packet);
        let (first, last) = (first.to_be_bytes(), last.to_be_bytes());
        let hash = self.hash.of(&first, packet.text(), &last);
        for (byte, hash) in packet.icv().iter_mut().zip(hash) {
            *byte ^= hash;
        }
    }
}

impl Hash {
    /// Returns the GHASH of a first block, a text padded with zeros, and a last block.
    fn of(&self, first: &[u8; 16], text: &[u8], last: &[u8; 16]) -> [u8; 16] {
        match self {
            Self::Wide(hash) => hash.hash(first, text, last),
            Self::Portable(hash) => {
                let mut hash = (**hash).clone();
                hash.update_padded(first);
                hash.update_padded(text);
                hash.update_padded(last);
                hash.finalize().into()
            }
        }
    }
}

/// Packets per chunk, which stays in the first-level cache between cipher and hash.
const CHUNK_PACKETS: usize = 16;

#[cfg(test)]
mod tests;
