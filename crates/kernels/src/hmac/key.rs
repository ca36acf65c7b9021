//! Keys with both key blocks hashed in advance.

use core::hint::black_box;

use crate::sha::{Hash, MAX_BLOCK_BYTES, MAX_DIGEST_BYTES, State, Word};

/// Hash states after the inner and the outer key block. Dropping erases them.
#[derive(Clone)]
pub struct HmacKey<H: Hash> {
    pub(super) inner: State<H>,
    pub(super) outer: State<H>,
}

impl<H: Hash> Drop for HmacKey<H> {
    fn drop(&mut self) {
        self.inner = black_box(H::INITIAL);
        self.outer = black_box(H::INITIAL);
        black_box(&self);
    }
}

impl<H: Hash> HmacKey<H> {
    /// Hashes the key blocks. A key longer than a block is replaced by its digest (RFC 2104, 2).
    pub fn new(key: &[u8]) -> Self {
        let mut block = [0; MAX_BLOCK_BYTES];
        if key.len() > H::BLOCK_BYTES {
            block[..MAX_DIGEST_BYTES].copy_from_slice(&digest::<H>(key));
            block[H::DIGEST_BYTES..].fill(0);
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let padded = |pad: u8| {
            let mut block = block.map(|byte| byte ^ pad);
            let mut state = H::INITIAL;
            H::compress(&mut state, &block[..H::BLOCK_BYTES]);
            block = black_box([0; MAX_BLOCK_BYTES]);
            black_box(&block);
            state
        };
        let key = Self {
            inner: padded(0x36),
            outer: padded(0x5c),
        };
        block = black_box([0; MAX_BLOCK_BYTES]);
        black_box(&block);
        key
    }
}

/// Returns the digest of a message.
fn digest<H: Hash>(message: &[u8]) -> [u8; MAX_DIGEST_BYTES] {
    let mut state = H::INITIAL;
    let (blocks, rest) = message.split_at(message.len() / H::BLOCK_BYTES * H::BLOCK_BYTES);
    H::compress(&mut state, blocks);
    let mut end = [0; 2 * MAX_BLOCK_BYTES];
    end[..rest.len()].copy_from_slice(rest);
    let bits = 8 * message.len() as u64;
    let count = pad::<H>(&mut end, rest.len(), bits);
    H::compress(&mut state, &end[..count * H::BLOCK_BYTES]);
    bytes::<H>(&state)
}

/// Writes the padding (FIPS 180-4, 5.1) behind the last `len` bytes of a message of `bits` bits; returns the number
/// of blocks. The bytes behind the message are zeros.
#[inline]
pub(super) fn pad<H: Hash>(end: &mut [u8; 2 * MAX_BLOCK_BYTES], len: usize, bits: u64) -> usize {
    // The mark, and the length field, which has an eighth of a block.
    let count = (len + 1 + H::BLOCK_BYTES / 8).div_ceil(H::BLOCK_BYTES);
    let used = count * H::BLOCK_BYTES;
    end[len] = 0x80;
    end[used - 8..used].copy_from_slice(&bits.to_be_bytes());
    count
}

/// Returns the bytes of a state.
#[inline]
pub(super) fn bytes<H: Hash>(state: &State<H>) -> [u8; MAX_DIGEST_BYTES] {
    let mut digest = [0; MAX_DIGEST_BYTES];
    for (at, word) in state.iter().enumerate() {
        word.store(&mut digest, at);
    }
    digest
}
