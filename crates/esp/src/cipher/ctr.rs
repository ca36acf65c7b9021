//! Counter mode (RFC 3686, 4): the counter block is salt, vector, and a number from 1.

use cipher::consts::U16;
use cipher::{
    Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser,
    ParBlocks,
};

use super::Salt;
use crate::work::Work;

/// Encrypts or decrypts the packets, but for those with a fault.
pub(super) fn apply<C, S, O>(cipher: &C, salt: &Salt, work: &mut [Work<'_, S, O>])
where
    C: BlockCipherEncrypt<BlockSize = U16>,
{
    cipher.encrypt_with_backend(Streams { salt, work });
}

struct Streams<'w, 'p, S, O> {
    salt: &'w Salt,
    work: &'w mut [Work<'p, S, O>],
}

impl<S, O> BlockSizeUser for Streams<'_, '_, S, O> {
    type BlockSize = U16;
}

impl<S, O> BlockCipherEncClosure for Streams<'_, '_, S, O> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        for packet in self.work {
            if packet.fault.is_some() {
                continue;
            }
            let mut first = Block::<B>::default();
            first[..4].copy_from_slice(self.salt);
            for (byte, iv) in first[4..12].iter_mut().zip(packet.iv()) {
                *byte = *iv;
            }
            let mut counter: u32 = 1;
            let mut keys = ParBlocks::<B>::default();
            for part in packet.text().chunks_mut(16 * keys.len()) {
                let blocks = part.len().div_ceil(16);
                for key in &mut keys[..blocks] {
                    *key = first;
                    key[12..].copy_from_slice(&counter.to_be_bytes());
                    // Packets are far shorter than 2^32 blocks.
                    counter = counter.wrapping_add(1);
                }
                if 2 * blocks > keys.len() {
                    backend.encrypt_par_blocks_inplace(&mut keys);
                } else {
                    for key in &mut keys[..blocks] {
                        backend.encrypt_block_inplace(key);
                    }
                }
                for (byte, key) in part.iter_mut().zip(keys.as_flattened()) {
                    *byte ^= key;
                }
            }
        }
    }
}
