//! AES-GCM (RFC 4106): counter mode, and a hash of what is sent, masked by the first counter block.
//!
//! It is put together here, as libraries take packets one by one: for short packets that costs more
//! than the cipher. The blocks of all packets are encrypted together. Its results are compared with
//! those of aws-lc. Where the processor has wider registers, one pass over each packet takes its place
//! ([`super::fused`]).

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

/// The cipher, and the hash under the key that it makes.
pub(crate) struct Gcm<C> {
    cipher: C,
    hash: Hash,
    salt: Salt,
}

enum Hash {
    /// By instructions of the processor.
    Wide(Box<kernels::Ghash>),
    Portable(Box<GHash>),
}

impl Drop for Hash {
    fn drop(&mut self) {
        // The other one wipes itself.
        if let Self::Wide(hash) = self {
            hash.wipe();
        }
    }
}

/// A cipher in counter mode.
pub(crate) trait Stream {
    /// The block of zeroes, encrypted.
    fn hash_key(&self) -> [u8; 16];

    /// Mixes the first counter block with the ICV, and the others with the text, of packets without a
    /// fault.
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
        for part in work.chunks_mut(CACHED) {
            for packet in &mut *part {
                packet.icv().fill(0);
            }
            self.cipher.mix(&self.salt, part);
            for packet in part {
                self.add_hash(shared, packet);
            }
        }
    }

    /// Decrypts packets whose ICVs are right; the others have a fault, and zeroes for a text.
    pub(super) fn unlock<S, O>(&self, shared: &Shared, work: &mut [Work<'_, S, O>]) {
        for part in work.chunks_mut(CACHED) {
            for packet in &mut *part {
                self.add_hash(shared, packet);
            }
            self.cipher.mix(&self.salt, part);
            for packet in part {
                // Hash and mask are the ICV: nothing is left of one that is right.
                let left = packet.icv().as_chunks().0.iter();
                let left = left.fold(0, |left, part| left | u64::from_ne_bytes(*part));
                if !bool::from(left.ct_eq(&0)) {
                    packet.fault = Some(Fault::Integrity);
                    packet.text().zeroize();
                }
            }
        }
    }

    /// Mixes the hash of what a packet authenticates with its ICV.
    fn add_hash<S, O>(&self, shared: &Shared, packet: &mut Work<'_, S, O>) {
        let (first, last) = Additional::blocks(shared, packet);
        let hash = self.hash.of(&first, packet.text(), &last);
        for (byte, hash) in packet.icv().iter_mut().zip(hash) {
            *byte ^= hash;
        }
    }
}

impl Hash {
    /// The hash of a block, of a text whose last block is filled with zeroes, and of another block.
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

/// Packets between the cipher and the hash: they stay in the first-level cache.
const CACHED: usize = 16;

#[cfg(test)]
mod tests;
