//! Counter mode (RFC 3686, 4; NIST SP 800-38D, 6.5): a counter block is salt, initialization vector, and a
//! counter from 1.
//!
//! The counter blocks of all packets form one row, encrypted in the largest chunks that the cipher supports.

use cipher::consts::U16;
use cipher::{
    Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser,
    ParBlocks,
};

use super::Salt;
use crate::work::Work;

/// Use of the first counter block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// Encrypts the first text block (plain counter mode).
    Text,
    /// Masks the ICV (GCM).
    Mask,
}

impl First {
    /// Returns the number of blocks besides the text.
    const fn blocks(self) -> usize {
        match self {
            Self::Text => 0,
            Self::Mask => 1,
        }
    }
}

/// Encrypts or decrypts packets without a fault.
pub(super) fn apply<C, S, O>(cipher: &C, salt: &Salt, first: First, work: &mut [Work<'_, S, O>])
where
    C: BlockCipherEncrypt<BlockSize = U16>,
{
    cipher.encrypt_with_backend(Streams { salt, first, work });
}

struct Streams<'w, 'p, S, O> {
    salt: &'w Salt,
    first: First,
    work: &'w mut [Work<'p, S, O>],
}

impl<S, O> BlockSizeUser for Streams<'_, '_, S, O> {
    type BlockSize = U16;
}

impl<S, O> BlockCipherEncClosure for Streams<'_, '_, S, O> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Self { salt, first, work } = self;
        let mut keys = ParBlocks::<B>::default();
        let mut ahead = RowPosition::default();
        loop {
            let mut behind = ahead;
            let mut used = 0;
            while used < keys.len() {
                let Some(piece) = ahead.next(work, first, keys.len() - used) else {
                    break;
                };
                count(salt, &work[piece.packet], &piece, &mut keys[used..]);
                used += piece.blocks;
            }
            if used == 0 {
                return;
            }
            // A parallel call is faster than single blocks, even half empty.
            if 2 * used > keys.len() {
                backend.encrypt_par_blocks_inplace(&mut keys);
            } else {
                for key in &mut keys[..used] {
                    backend.encrypt_block_inplace(key);
                }
            }
            let mut keys = &keys[..used];
            while let Some(piece) = behind.next(work, first, keys.len()) {
                let (own, others) = keys.split_at(piece.blocks);
                mix(&mut work[piece.packet], &piece, first, own);
                keys = others;
            }
        }
    }
}

/// Position in the row of all counter blocks.
#[derive(Clone, Copy, Default)]
struct RowPosition {
    packet: usize,
    block: usize,
}

/// Consecutive counter blocks of one packet.
struct Piece {
    packet: usize,
    /// Index of the first block within the packet.
    block: usize,
    blocks: usize,
}

impl RowPosition {
    /// Returns the next blocks of one packet, at most `room`; `None` at the end, and for `room` 0.
    #[inline(always)]
    fn next<S, O>(&mut self, work: &[Work<'_, S, O>], first: First, room: usize) -> Option<Piece> {
        if room == 0 {
            return None;
        }
        loop {
            let packet = work.get(self.packet)?;
            let all = match packet.fault {
                None => first.blocks() + packet.text_len().div_ceil(16),
                Some(_) => 0,
            };
            if self.block < all {
                let piece = Piece {
                    packet: self.packet,
                    block: self.block,
                    blocks: room.min(all - self.block),
                };
                self.block += piece.blocks;
                return Some(piece);
            }
            self.packet += 1;
            self.block = 0;
        }
    }
}

/// Writes counter blocks.
#[inline(always)]
fn count<S, O>(salt: &Salt, packet: &Work<'_, S, O>, piece: &Piece, keys: &mut [Array<u8, U16>]) {
    let mut block = [0; 16];
    block[..4].copy_from_slice(salt);
    if let Some(iv) = packet.iv().first_chunk::<8>() {
        block[4..12].copy_from_slice(iv);
    }
    let base = u128::from_be_bytes(block);
    // Packets are far shorter than 2^32 blocks.
    for (counter, key) in (piece.block as u128 + 1..).zip(&mut keys[..piece.blocks]) {
        *key = Array((base | counter).to_be_bytes());
    }
}

/// XORs encrypted counter blocks into text or ICV.
#[inline(always)]
fn mix<S, O>(packet: &mut Work<'_, S, O>, piece: &Piece, first: First, keys: &[Array<u8, U16>]) {
    let mut keys = keys;
    let mut block = piece.block;
    if let (First::Mask, 0, Some((mask, others))) = (first, block, keys.split_first()) {
        add(packet.icv(), core::slice::from_ref(mask));
        (keys, block) = (others, 1);
    }
    let start = 16 * (block - first.blocks());
    add(packet.text().get_mut(start..).unwrap_or_default(), keys);
}

/// XORs as many bytes as both have.
#[inline(always)]
fn add(bytes: &mut [u8], keys: &[Array<u8, U16>]) {
    let (blocks, rest) = bytes.as_chunks_mut::<16>();
    for (block, key) in blocks.iter_mut().zip(keys) {
        *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(key.0)).to_ne_bytes();
    }
    if let Some(key) = keys.get(blocks.len()) {
        for (byte, key) in rest.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
}
