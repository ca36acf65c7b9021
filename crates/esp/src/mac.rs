//! HMAC (RFC 2104) of packets with equal algorithms, in batches.
//!
//! The crate `kernels` computes the HMACs of SHA-1 and SHA-2; MD5, which RouterOS still offers, is here.

use kernels::{Hash, HmacKey, HmacMessage, MAX_DIGEST_BYTES, Sha1, Sha256, Sha384, Sha512, hmac};
use md5::block_api::compress as md5;
use smallvec::SmallVec;
use zeroize::{Zeroize, Zeroizing};

use crate::Authentication;

/// HMAC key of an algorithm.
pub enum Mac {
    /// No HMAC.
    None,
    /// HMAC-MD5.
    Md5(Md5Key),
    /// HMAC-SHA1.
    Sha1(HmacKey<Sha1>),
    /// HMAC-SHA-256.
    Sha256(HmacKey<Sha256>),
    /// HMAC-SHA-384.
    Sha384(HmacKey<Sha384>),
    /// HMAC-SHA-512.
    Sha512(HmacKey<Sha512>),
}

impl Mac {
    /// Creates the key schedule. `key` has at most the length of a block of the hash: further bytes of an MD5 key are
    /// ignored.
    pub fn new(authentication: Authentication, key: &[u8]) -> Self {
        match authentication {
            Authentication::None => Self::None,
            Authentication::Md5 => Self::Md5(Md5Key::new(key)),
            Authentication::Sha1 => Self::Sha1(HmacKey::new(key)),
            Authentication::Sha256 => Self::Sha256(HmacKey::new(key)),
            Authentication::Sha384 => Self::Sha384(HmacKey::new(key)),
            Authentication::Sha512 => Self::Sha512(HmacKey::new(key)),
        }
    }
}

/// Authenticated data: bytes of a packet, and implied bytes that are not transmitted.
pub struct Message<'m> {
    /// The key.
    pub mac: &'m Mac,
    /// Transmitted bytes.
    pub bytes: &'m [u8],
    /// Bytes that follow the transmitted ones.
    pub implied: Option<[u8; 4]>,
}

/// An untruncated HMAC; bytes beyond the digest length are meaningless.
pub type Sum = [u8; MAX_DIGEST_BYTES];
/// HMACs of a chunk of messages.
pub type Sums = SmallVec<[Sum; CHUNK_MESSAGES]>;

/// Computes the HMACs of at most [`CHUNK_MESSAGES`] messages with equal algorithms.
pub fn sums(messages: &[Message<'_>]) -> Sums {
    match messages.first().map(|message| message.mac) {
        Some(Mac::Sha1(_)) => together(messages, |mac| match mac {
            Mac::Sha1(key) => Some(key),
            _ => None,
        }),
        Some(Mac::Sha256(_)) => together(messages, |mac| match mac {
            Mac::Sha256(key) => Some(key),
            _ => None,
        }),
        Some(Mac::Sha384(_)) => together(messages, |mac| match mac {
            Mac::Sha384(key) => Some(key),
            _ => None,
        }),
        Some(Mac::Sha512(_)) => together(messages, |mac| match mac {
            Mac::Sha512(key) => Some(key),
            _ => None,
        }),
        Some(Mac::Md5(_) | Mac::None) | None => messages.iter().map(md5_sum).collect(),
    }
}

/// Computes HMACs of SHA-1 or SHA-2; `key` returns the key of the algorithm.
fn together<H: Hash>(messages: &[Message<'_>], key: impl Fn(&Mac) -> Option<&HmacKey<H>>) -> Sums {
    let prepared = messages.iter().filter_map(|message| {
        Some(HmacMessage {
            key: key(message.mac)?,
            bytes: message.bytes,
            suffix: message.implied,
            digest: [0; MAX_DIGEST_BYTES],
        })
    });
    let mut prepared: SmallVec<[_; CHUNK_MESSAGES]> = prepared.collect();
    debug_assert_eq!(prepared.len(), messages.len(), "the algorithms are equal");
    hmac(&mut prepared);
    prepared.iter().map(|message| message.digest).collect()
}

/// Returns the HMAC of MD5 of a message.
fn md5_sum(message: &Message<'_>) -> Sum {
    let Mac::Md5(key) = message.mac else {
        return [0; MAX_DIGEST_BYTES];
    };
    let mut state = key.inner;
    let implied = message.implied.as_ref().map_or(&[][..], |implied| implied);
    finish(&mut state, message.bytes, implied);
    let inner = state.map(u32::to_le_bytes);
    state = key.outer;
    finish(&mut state, inner.as_flattened(), &[]);
    let mut sum = [0; MAX_DIGEST_BYTES];
    let outer = state.map(u32::to_le_bytes);
    sum[..MD5_BYTES].copy_from_slice(outer.as_flattened());
    sum
}

/// States of MD5 (RFC 1321) after the inner and outer key blocks; dropping wipes them.
pub struct Md5Key {
    inner: [u32; 4],
    outer: [u32; 4],
}

impl Drop for Md5Key {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

impl Md5Key {
    fn new(key: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; MD5_BLOCK_BYTES]);
            for (byte, key) in block.iter_mut().zip(key) {
                *byte ^= key;
            }
            let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
            md5(&mut state, core::slice::from_ref(&*block));
            state
        };
        Self {
            inner: padded(0x36),
            outer: padded(0x5c),
        }
    }
}

/// Hashes a message that follows a key block, and the padding.
fn finish(state: &mut [u32; 4], bytes: &[u8], implied: &[u8]) {
    let (blocks, rest) = bytes.as_chunks::<MD5_BLOCK_BYTES>();
    md5(state, blocks);
    let mut end = [0; 2 * MD5_BLOCK_BYTES];
    let len = rest.len() + implied.len();
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()..len].copy_from_slice(implied);
    end[len] = 0x80;
    let used = (len + 1 + 8).next_multiple_of(MD5_BLOCK_BYTES);
    let bits = 8 * (MD5_BLOCK_BYTES + bytes.len() + implied.len()) as u64;
    end[used - 8..used].copy_from_slice(&bits.to_le_bytes());
    md5(state, end[..used].as_chunks().0);
}

/// Messages whose HMACs are computed at once.
pub const CHUNK_MESSAGES: usize = 32;
/// Length of a block of MD5 in bytes.
const MD5_BLOCK_BYTES: usize = 64;
/// Length of a digest of MD5 in bytes.
const MD5_BYTES: usize = 16;

#[cfg(test)]
mod tests;
