//! CBC, applied to the packets of one association.
//!
//! Encryption within a chain is sequential, so the chains of several packets advance together, as many as the
//! cipher has parallel blocks. Decryption is parallel within a packet.

use core::cmp::Reverse;
use core::marker::PhantomData;

use cipher::array::{Array, ArraySize};
use cipher::{
    Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, ParBlocks,
};

use crate::work::Work;

/// Encrypts packets whose texts are whole blocks.
pub(super) fn encrypt<C: BlockCipherEncrypt, S, O>(cipher: &C, work: &mut [Work<'_, S, O>]) {
    // Chains of equal length end together; the longest come first.
    if !work.is_sorted_by(|one, other| one.text_len() >= other.text_len()) {
        work.sort_unstable_by_key(|work| Reverse(work.text_len()));
    }
    cipher.encrypt_with_backend(Chains::<_, _, C::BlockSize>(work, PhantomData));
}

/// Decrypts packets without a fault.
pub(super) fn decrypt<C: BlockCipherDecrypt, S, O>(cipher: &C, work: &mut [Work<'_, S, O>]) {
    cipher.decrypt_with_backend(Chains::<_, _, C::BlockSize>(work, PhantomData));
}

/// Packets for a cipher of this block size.
struct Chains<'w, 'p, S, O, N>(&'w mut [Work<'p, S, O>], PhantomData<N>);

impl<S, O, N: ArraySize> BlockSizeUser for Chains<'_, '_, S, O, N> {
    type BlockSize = N;
}

impl<S, O, N: ArraySize> BlockCipherEncClosure for Chains<'_, '_, S, O, N> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = N>>(self, backend: &B) {
        let mut heads = ParBlocks::<B>::default();
        for lanes in self.0.chunks_mut(heads.len()) {
            for (head, lane) in heads.iter_mut().zip(lanes.iter()) {
                *head = vector(lane.iv());
            }
            advance(backend, &mut heads, lanes);
        }
    }
}

/// Encrypts the texts of the lanes, longest first; each head holds the initialization vector.
#[inline(always)]
fn advance<B: BlockCipherEncBackend, S, O>(
    backend: &B,
    heads: &mut ParBlocks<B>,
    lanes: &mut [Work<'_, S, O>],
) {
    let longest = lanes.first().map_or(0, Work::text_len);
    let size = B::block_size();
    let mut active = lanes.len();
    for at in (0..longest).step_by(size) {
        while active > 0 && lanes[active - 1].text_len() <= at {
            active -= 1;
        }
        for (head, lane) in heads.iter_mut().zip(&mut lanes[..active]) {
            let start = lane.front + at;
            mix(
                head,
                lane.bytes.get(start..start + size).unwrap_or_default(),
            );
        }
        // A parallel call is faster than single blocks, even half empty.
        if 2 * active > heads.len() {
            backend.encrypt_par_blocks_inplace(heads);
        } else {
            for head in &mut heads[..active] {
                backend.encrypt_block_inplace(head);
            }
        }
        for (head, lane) in heads.iter().zip(&mut lanes[..active]) {
            let start = lane.front + at;
            if let Some(place) = lane.bytes.get_mut(start..start + size) {
                place.copy_from_slice(head);
            }
        }
    }
}

impl<S, O, N: ArraySize> BlockCipherDecClosure for Chains<'_, '_, S, O, N> {
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = N>>(self, backend: &B) {
        for packet in self.0 {
            if packet.fault.is_some() {
                continue;
            }
            let mut before = vector(packet.iv());
            let (blocks, _) = Array::slice_as_chunks_mut(packet.text());
            let (many, rest) = Array::slice_as_chunks_mut(blocks);
            for blocks in many {
                unchain_all(backend, blocks, &mut before);
            }
            for block in rest {
                let cipher = block.clone();
                backend.decrypt_block_inplace(block);
                mix(block, &before);
                before = cipher;
            }
        }
    }
}

/// Decrypts in the largest chunks that the cipher supports.
#[inline(always)]
fn unchain_all<B: BlockCipherDecBackend>(
    backend: &B,
    blocks: &mut ParBlocks<B>,
    before: &mut Block<B>,
) {
    let ciphers = blocks.clone();
    backend.decrypt_par_blocks_inplace(blocks);
    if let Some(first) = blocks.first_mut() {
        mix(first, before);
    }
    for (block, cipher) in blocks.iter_mut().skip(1).zip(&ciphers) {
        mix(block, cipher);
    }
    if let Some(last) = ciphers.last() {
        before.clone_from(last);
    }
}

/// Returns the initialization vector of a packet.
#[inline(always)]
fn vector<N: ArraySize>(iv: &[u8]) -> Array<u8, N> {
    iv.try_into().unwrap_or_default()
}

#[inline(always)]
fn mix(block: &mut [u8], other: &[u8]) {
    for (byte, other) in block.iter_mut().zip(other) {
        *byte ^= other;
    }
}
