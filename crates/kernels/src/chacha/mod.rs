//! ChaCha20-Poly1305 (RFC 8439) over several messages at once: sixteen blocks of the cipher in the lanes of a register,
//! whichever messages they belong to, and the hashes of eight messages.
//!
//! Only for processors with AVX-512 and its integer multiplication (IFMA); libraries are as fast elsewhere.

#[cfg(target_arch = "x86_64")]
mod poly1305;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod v4;

/// Bytes of a block of the cipher.
#[cfg(target_arch = "x86_64")]
const BLOCK: usize = 64;
/// Bytes of a block of the hash, and of a tag.
const HASH_BLOCK: usize = 16;
/// Messages that are hashed together.
#[cfg(target_arch = "x86_64")]
const TOGETHER: usize = 8;

/// A key, as words in little-endian order.
#[derive(Clone, PartialEq, Eq)]
pub struct ChaChaKey([u32; 8]);

impl core::fmt::Debug for ChaChaKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ChaChaKey")
    }
}

impl ChaChaKey {
    /// Returns the key of these bytes; `None` if the processor lacks the instructions.
    pub fn new(bytes: &[u8; 32]) -> Option<Self> {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = bytes
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes));
        }
        is_available().then_some(Self(words))
    }
}

impl Drop for ChaChaKey {
    fn drop(&mut self) {
        // A volatile write is not optimised away.
        for word in &mut self.0 {
            // SAFETY: the reference is valid for a write.
            unsafe { core::ptr::write_volatile(word, 0) };
        }
    }
}

/// Returns true if the processor has the instructions.
fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let wide = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq");
        wide && has!("avx512ifma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// A message to encrypt or to decrypt in place.
#[derive(Debug)]
pub struct ChaChaMessage<'a> {
    /// The key.
    pub key: &'a ChaChaKey,
    /// The nonce.
    pub nonce: [u8; 12],
    /// The authenticated data, padded with zeros, and their length in bytes, at most 16.
    pub data: ([u8; HASH_BLOCK], usize),
    /// The text.
    pub text: &'a mut [u8],
    /// The result: the tag of the message, which the caller of [`open`] compares with that received.
    pub tag: [u8; HASH_BLOCK],
}

impl<'a> ChaChaMessage<'a> {
    /// Returns a message with authenticated data of at most 16 bytes; further bytes are ignored.
    pub fn new(key: &'a ChaChaKey, nonce: [u8; 12], data: &[u8], text: &'a mut [u8]) -> Self {
        let mut padded = [0; HASH_BLOCK];
        let len = data.len().min(HASH_BLOCK);
        padded[..len].copy_from_slice(&data[..len]);
        Self {
            key,
            nonce,
            data: (padded, len),
            text,
            tag: [0; HASH_BLOCK],
        }
    }
}

/// Encrypts the texts of messages and sets their tags.
pub fn chacha_seal(messages: &mut [ChaChaMessage<'_>]) {
    run::<false>(messages);
}

/// Decrypts the texts of messages and sets the tags that they must have.
pub fn chacha_open(messages: &mut [ChaChaMessage<'_>]) {
    run::<true>(messages);
}

fn run<const OPENS: bool>(messages: &mut [ChaChaMessage<'_>]) {
    #[cfg(target_arch = "x86_64")]
    for group in messages.chunks_mut(TOGETHER) {
        // SAFETY: a key exists only if the processor has the features of the function, and each message has a key.
        unsafe { v4::run::<OPENS>(group) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = messages;
}
