//! HMAC (RFC 2104) with both key blocks hashed in advance.

use md5::block_api::compress as md5;
use sha1::block_api::compress as sha1;
use sha2::block_api::{compress256 as sha256, compress512 as sha512};
use zeroize::{Zeroize, Zeroizing};

use crate::Authentication;

/// HMAC key of an algorithm.
pub(crate) enum Mac {
    None,
    Md5(Keyed<Md5>),
    Sha1(Keyed<Sha1>),
    Sha256(Keyed<Sha256>),
    Sha384(Keyed<Sha512<48>>),
    Sha512(Keyed<Sha512<64>>),
}

/// Length of the longest digest in bytes.
pub(crate) const MAX_DIGEST_BYTES: usize = 64;
/// Length of the longest hash block in bytes.
const MAX_BLOCK_BYTES: usize = 128;

impl Mac {
    /// Creates the key schedule. `key` has the length of the algorithm, which is at most one block.
    pub(crate) fn new(authentication: Authentication, key: &[u8]) -> Self {
        match authentication {
            Authentication::None => Self::None,
            Authentication::Md5 => Self::Md5(Keyed::new(MD5, key)),
            Authentication::Sha1 => Self::Sha1(Keyed::new(SHA1, key)),
            Authentication::Sha256 => Self::Sha256(Keyed::new(SHA256, key)),
            Authentication::Sha384 => Self::Sha384(Keyed::new(SHA384, key)),
            Authentication::Sha512 => Self::Sha512(Keyed::new(SHA512, key)),
        }
    }
}

/// Authenticated data: bytes of a packet, and implied bytes that are not transmitted.
pub(crate) struct Message<'m> {
    pub(crate) mac: &'m Mac,
    pub(crate) bytes: &'m [u8],
    pub(crate) implied: Option<[u8; 4]>,
}

/// An untruncated HMAC; bytes beyond the digest length are meaningless.
pub(crate) type Sum = [u8; MAX_DIGEST_BYTES];

impl Message<'_> {
    /// Returns the HMAC.
    pub(crate) fn sum(&self) -> Sum {
        match self.mac {
            Mac::None => [0; MAX_DIGEST_BYTES],
            Mac::Md5(keyed) => keyed.sum(self),
            Mac::Sha1(keyed) => keyed.sum(self),
            Mac::Sha256(keyed) => keyed.sum(self),
            Mac::Sha384(keyed) => keyed.sum(self),
            Mac::Sha512(keyed) => keyed.sum(self),
        }
    }

    fn implied(&self) -> &[u8] {
        self.implied.as_ref().map_or(&[], |implied| implied)
    }

    fn len(&self) -> usize {
        self.bytes.len() + self.implied().len()
    }
}

/// Returns the HMACs of two messages. With equal algorithms their blocks alternate, so that the processor
/// overlaps both: rounds of one hash depend on each other.
pub(crate) fn sums(one: &Message<'_>, other: &Message<'_>) -> [Sum; 2] {
    match (one.mac, other.mac) {
        (Mac::Md5(first), Mac::Md5(second)) => together([first, second], [one, other]),
        (Mac::Sha1(first), Mac::Sha1(second)) => together([first, second], [one, other]),
        (Mac::Sha256(first), Mac::Sha256(second)) => together([first, second], [one, other]),
        (Mac::Sha384(first), Mac::Sha384(second)) => together([first, second], [one, other]),
        (Mac::Sha512(first), Mac::Sha512(second)) => together([first, second], [one, other]),
        _ => [one.sum(), other.sum()],
    }
}

/// Computes both HMACs block by block.
fn together<H: Hash>(keyed: [&Keyed<H>; 2], messages: [&Message<'_>; 2]) -> [Sum; 2] {
    let [mut one, mut other] = keyed.map(|keyed| keyed.inner);
    let shorter = messages[0].bytes.len().min(messages[1].bytes.len());
    let common = shorter / H::BLOCK * H::BLOCK;
    let [(first, first_rest), (second, second_rest)] =
        messages.map(|message| message.bytes.split_at(common));
    let blocks = first.chunks_exact(H::BLOCK);
    for (first, second) in blocks.zip(second.chunks_exact(H::BLOCK)) {
        one.compress(first);
        other.compress(second);
    }
    one.finish(first_rest, messages[0]);
    other.finish(second_rest, messages[1]);
    [keyed[0].outer(&one), keyed[1].outer(&other)]
}

/// A hash as its compression function.
pub(crate) trait Hash: Copy {
    /// Length of a block in bytes.
    const BLOCK: usize;
    /// Length of the digest in bytes.
    const OUTPUT: usize;

    /// Compresses whole blocks.
    fn compress(&mut self, blocks: &[u8]);

    /// Returns the digest.
    fn output(&self) -> Sum;

    /// Overwrites the state.
    fn wipe(&mut self);

    /// Writes the message length in bits at the end of the last block.
    fn length(block: &mut [u8], bits: u64);
}

/// Hash states after the inner and outer key blocks.
pub(crate) struct Keyed<H: Hash> {
    inner: H,
    outer: H,
}

impl<H: Hash> Drop for Keyed<H> {
    fn drop(&mut self) {
        self.inner.wipe();
        self.outer.wipe();
    }
}

impl<H: Hash> Keyed<H> {
    fn new(start: H, key: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; MAX_BLOCK_BYTES]);
            for (byte, key) in block.iter_mut().zip(key) {
                *byte ^= key;
            }
            let mut state = start;
            state.compress(&block[..H::BLOCK]);
            state
        };
        Self {
            inner: padded(0x36),
            outer: padded(0x5c),
        }
    }

    fn sum(&self, message: &Message<'_>) -> Sum {
        let mut state = self.inner;
        state.finish(message.bytes, message);
        self.outer(&state)
    }

    /// Returns the outer hash of an inner digest.
    fn outer(&self, inner: &H) -> Sum {
        let mut state = self.outer;
        let output = inner.output();
        let (blocks, used) = last::<H>(&output[..H::OUTPUT], &[], H::OUTPUT);
        state.compress(&blocks[..used]);
        state.output()
    }
}

/// Final step of an HMAC.
trait Finish {
    /// Compresses the last bytes of a message, its implied bytes, and the padding.
    fn finish(&mut self, bytes: &[u8], message: &Message<'_>);
}

impl<H: Hash> Finish for H {
    #[inline(always)]
    fn finish(&mut self, bytes: &[u8], message: &Message<'_>) {
        let (blocks, rest) = bytes.split_at(bytes.len() / H::BLOCK * H::BLOCK);
        self.compress(blocks);
        let (blocks, used) = last::<H>(rest, message.implied(), message.len());
        self.compress(&blocks[..used]);
    }
}

/// Returns the last blocks of a message with padding, and their length in bytes.
#[inline(always)]
fn last<H: Hash>(rest: &[u8], implied: &[u8], len: usize) -> ([u8; 2 * MAX_BLOCK_BYTES], usize) {
    let mut blocks = [0; 2 * MAX_BLOCK_BYTES];
    let end = rest.len() + implied.len();
    blocks[..rest.len()].copy_from_slice(rest);
    blocks[rest.len()..end].copy_from_slice(implied);
    blocks[end] = 0x80;
    // Padding mark and length field; the length field has an eighth of a block.
    let used = (end + 1 + H::BLOCK / 8).next_multiple_of(H::BLOCK);
    H::length(&mut blocks[used - 8..used], 8 * (H::BLOCK + len) as u64);
    (blocks, used)
}

/// State of MD5 (RFC 1321).
#[derive(Clone, Copy)]
pub(crate) struct Md5([u32; 4]);
const MD5: Md5 = Md5([0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]);

impl Hash for Md5 {
    const BLOCK: usize = 64;
    const OUTPUT: usize = 16;

    fn compress(&mut self, blocks: &[u8]) {
        md5(&mut self.0, blocks.as_chunks().0);
    }

    fn output(&self) -> Sum {
        words(&self.0.map(u32::to_le_bytes))
    }

    fn wipe(&mut self) {
        self.0.zeroize();
    }

    fn length(block: &mut [u8], bits: u64) {
        block.copy_from_slice(&bits.to_le_bytes());
    }
}

/// State of SHA-1 (FIPS 180-4).
#[derive(Clone, Copy)]
pub(crate) struct Sha1([u32; 5]);
const SHA1: Sha1 = Sha1([
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
]);

impl Hash for Sha1 {
    const BLOCK: usize = 64;
    const OUTPUT: usize = 20;

    fn compress(&mut self, blocks: &[u8]) {
        sha1(&mut self.0, blocks.as_chunks().0);
    }

    fn output(&self) -> Sum {
        words(&self.0.map(u32::to_be_bytes))
    }

    fn wipe(&mut self) {
        self.0.zeroize();
    }

    fn length(block: &mut [u8], bits: u64) {
        block.copy_from_slice(&bits.to_be_bytes());
    }
}

/// State of SHA-256 (FIPS 180-4).
#[derive(Clone, Copy)]
pub(crate) struct Sha256([u32; 8]);
const SHA256: Sha256 = Sha256([
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
]);

impl Hash for Sha256 {
    const BLOCK: usize = 64;
    const OUTPUT: usize = 32;

    fn compress(&mut self, blocks: &[u8]) {
        sha256(&mut self.0, blocks.as_chunks().0);
    }

    fn output(&self) -> Sum {
        words(&self.0.map(u32::to_be_bytes))
    }

    fn wipe(&mut self) {
        self.0.zeroize();
    }

    fn length(block: &mut [u8], bits: u64) {
        block.copy_from_slice(&bits.to_be_bytes());
    }
}

/// State of SHA-384 and SHA-512 (FIPS 180-4); SHA-384 truncates the digest.
#[derive(Clone, Copy)]
pub(crate) struct Sha512<const OUTPUT: usize>([u64; 8]);
const SHA384: Sha512<48> = Sha512([
    0xcbbb_9d5d_c105_9ed8,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
    0xdb0c_2e0d_64f9_8fa7,
    0x47b5_481d_befa_4fa4,
]);
const SHA512: Sha512<64> = Sha512([
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
]);

impl<const SIZE: usize> Hash for Sha512<SIZE> {
    const BLOCK: usize = 128;
    const OUTPUT: usize = SIZE;

    fn compress(&mut self, blocks: &[u8]) {
        sha512(&mut self.0, blocks.as_chunks().0);
    }

    fn output(&self) -> Sum {
        words(&self.0.map(u64::to_be_bytes))
    }

    fn wipe(&mut self) {
        self.0.zeroize();
    }

    fn length(block: &mut [u8], bits: u64) {
        block.copy_from_slice(&bits.to_be_bytes());
    }
}

/// Concatenates words.
fn words<const BYTES: usize>(words: &[[u8; BYTES]]) -> Sum {
    let mut bytes = [0; MAX_DIGEST_BYTES];
    for (place, word) in bytes.chunks_exact_mut(BYTES).zip(words) {
        place.copy_from_slice(word);
    }
    bytes
}

#[cfg(test)]
mod tests;
