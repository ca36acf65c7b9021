//! HMAC (RFC 2104) of message batches; every message has a key.
//!
//! Messages pass through the lanes of an [`Engine`]: a lane hashes the whole blocks of its message in place, then a
//! copy of its end with the padding, then the outer block, and takes the next message. So messages of different
//! lengths keep all lanes busy.

mod key;
mod schedule;

pub use key::HmacKey;

use crate::sha::{self, Hash, MAX_DIGEST_BYTES};

/// A message to authenticate.
pub struct HmacMessage<'m, H: Hash> {
    /// The key.
    pub key: &'m HmacKey<H>,
    /// The bytes.
    pub bytes: &'m [u8],
    /// Bytes that follow, such as the implied half of a sequence number.
    pub suffix: Option<[u8; 4]>,
    /// The HMAC; bytes beyond the hash's digest are unspecified.
    pub digest: [u8; MAX_DIGEST_BYTES],
}

/// Implementation of a hash over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashForm {
    /// One message at a time, on any processor.
    Single,
    /// Two messages, by the SHA extensions of x86; SHA-1 and SHA-256.
    Extensions,
    /// Eight messages with words of 32 bits, four with 64, by AVX2.
    V3,
    /// Sixteen messages with words of 32 bits, eight with 64, by AVX-512.
    V4,
}

impl HashForm {
    /// Returns the forms that this machine has for a hash.
    pub fn available<H: Hash>() -> impl Iterator<Item = Self> {
        let all = [Self::Single, Self::Extensions, Self::V3, Self::V4];
        all.into_iter().filter(|form| form.is_available::<H>())
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available<H: Hash>(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        match self {
            Self::Single => true,
            Self::Extensions => H::HAS_EXTENSIONS && has!("sha") && has!("sse4.1"),
            Self::V3 => has!("avx2"),
            Self::V4 => has!("avx512f") && has!("avx512bw"),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available<H: Hash>(self) -> bool {
        self == Self::Single
    }

    /// Returns the fastest form for a number of messages.
    pub fn fastest<H: Hash>(messages: usize) -> Self {
        let mut order = H::ORDER.iter();
        let form = order.find(|(form, least)| messages >= *least && form.is_available::<H>());
        form.map_or(Self::Single, |(form, _)| *form)
    }
}

/// Computes the HMACs of messages by the fastest form; fastest if the longest come first.
pub fn hmac<H: Hash>(messages: &mut [HmacMessage<'_, H>]) {
    hmac_by(HashForm::fastest::<H>(messages.len()), messages);
}

/// Computes the HMACs of messages by a given form, or one at a time if this machine lacks it.
pub fn hmac_by<H: Hash>(form: HashForm, messages: &mut [HmacMessage<'_, H>]) {
    #[cfg(target_arch = "x86_64")]
    if form.is_available::<H>() {
        // SAFETY: the processor has the instructions of the form.
        unsafe {
            match form {
                HashForm::Extensions => schedule::run::<H, sha::Extensions>(messages),
                HashForm::V3 => schedule::run::<H, H::V3>(messages),
                HashForm::V4 => schedule::run::<H, H::V4>(messages),
                HashForm::Single => schedule::run::<H, sha::Single>(messages),
            }
        }
        return;
    }
    let _ = form;
    // SAFETY: the form needs no special instructions.
    unsafe { schedule::run::<H, sha::Single>(messages) }
}

#[cfg(test)]
mod tests;
