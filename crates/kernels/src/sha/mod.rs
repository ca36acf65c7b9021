//! SHA-1, SHA-256, SHA-384 and SHA-512 (FIPS 180-4) over several messages at once.
//!
//! A register holds one word of each message, one message per lane: sixteen lanes of 32 bits with AVX-512, eight
//! with AVX2, half as many of 64 bits. [`Engine`] is one way to advance the lanes; [`crate::hmac`] assigns messages
//! to lanes and chooses the engine.

#[cfg(target_arch = "x86_64")]
mod extensions;
mod rounds;
#[cfg(target_arch = "x86_64")]
mod v3;
#[cfg(target_arch = "x86_64")]
mod v4;
mod words;

#[cfg(target_arch = "x86_64")]
pub(crate) use extensions::Extensions;
#[cfg(target_arch = "x86_64")]
pub use v3::{V3x32, V3x64};
#[cfg(target_arch = "x86_64")]
pub(crate) use v4::quarters;
#[cfg(target_arch = "x86_64")]
pub use v4::{V4x32, V4x64};
pub use words::Words;

use crate::HashForm;

/// Length of the longest block in bytes.
pub const MAX_BLOCK_BYTES: usize = 128;
/// Length of the longest digest in bytes.
pub const MAX_DIGEST_BYTES: usize = 64;
/// Largest number of lanes of an engine.
pub const MAX_LANES: usize = 16;

/// A hash function of FIPS 180-4. [`HmacKey`](crate::HmacKey) uses it.
pub trait Hash: Copy + sealed::Compress {
    /// Length of a block in bytes.
    const BLOCK_BYTES: usize;
    /// Length of the digest in bytes.
    const DIGEST_BYTES: usize;
    /// Forms in order of preference, with the smallest batch size of each.
    #[doc(hidden)]
    const ORDER: &[(HashForm, usize)];
    /// Lanes of AVX2.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type V3: Engine<Self>;
    /// Lanes of AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type V4: Engine<Self>;
}

/// A word of a hash state.
pub trait Word: Copy + Default + Send + Sync + 'static {
    /// Stores the word in network byte order, at position `at` of the digest.
    #[doc(hidden)]
    fn store(self, digest: &mut [u8; MAX_DIGEST_BYTES], at: usize);
}

impl Word for u32 {
    #[inline(always)]
    fn store(self, digest: &mut [u8; MAX_DIGEST_BYTES], at: usize) {
        if let Some(place) = digest.as_chunks_mut().0.get_mut(at) {
            *place = self.to_be_bytes();
        }
    }
}

impl Word for u64 {
    #[inline(always)]
    fn store(self, digest: &mut [u8; MAX_DIGEST_BYTES], at: usize) {
        if let Some(place) = digest.as_chunks_mut().0.get_mut(at) {
            *place = self.to_be_bytes();
        }
    }
}

/// Words of a hash state; SHA-1 uses the first five.
pub type State<H> = [<H as sealed::Compress>::Word; 8];

/// Keeps the trait [`Hash`] closed.
pub mod sealed {
    use super::{Word, Words};

    /// Compression function of a hash.
    pub trait Compress {
        /// Word of the state.
        type Word: Word;
        /// Initial state.
        const INITIAL: [Self::Word; 8];

        /// Compresses whole blocks of one message; portable.
        fn compress(state: &mut [Self::Word; 8], blocks: &[u8]);

        /// Compresses one block of each lane; overwrites `block`.
        fn rounds<W: Words<Word = Self::Word>>(state: &mut [W; 8], block: &mut [W; 16]);

        /// Compresses whole blocks of two messages by the processor's SHA extensions.
        ///
        /// # Safety
        /// The processor has them, and both sources have `count` blocks.
        #[cfg(target_arch = "x86_64")]
        unsafe fn compress_two(
            states: &mut [[Self::Word; 8]; 2],
            sources: [*const u8; 2],
            count: usize,
        );

        /// True if the SHA extensions include this hash.
        const HAS_EXTENSIONS: bool;
    }
}

/// An implementation of the compression function of `H` over lanes.
pub trait Engine<H: Hash> {
    /// Number of lanes, at most [`MAX_LANES`].
    const LANES: usize;
    /// States of all lanes.
    type States: Default;

    /// Sets the state of a lane.
    fn set(states: &mut Self::States, lane: usize, state: &State<H>);

    /// Returns the state of a lane.
    fn state(states: &Self::States, lane: usize) -> State<H>;

    /// Compresses `count` blocks of each lane.
    ///
    /// # Safety
    /// The processor has the engine's instructions; the sources of the engine's lanes have `count` blocks.
    unsafe fn compress(states: &mut Self::States, sources: &[*const u8; MAX_LANES], count: usize);
}

/// One message at a time, portable; with SHA extensions where the library has them.
pub(crate) struct Single;

impl<H: Hash> Engine<H> for Single {
    const LANES: usize = 1;
    type States = State<H>;

    fn set(states: &mut Self::States, _lane: usize, state: &State<H>) {
        *states = *state;
    }

    fn state(states: &Self::States, _lane: usize) -> State<H> {
        *states
    }

    unsafe fn compress(states: &mut Self::States, sources: &[*const u8; MAX_LANES], count: usize) {
        // SAFETY: the caller guarantees that many blocks.
        let blocks = unsafe { core::slice::from_raw_parts(sources[0], count * H::BLOCK_BYTES) };
        H::compress(states, blocks);
    }
}

/// SHA-1.
#[derive(Clone, Copy, Debug)]
pub struct Sha1;
/// SHA-256.
#[derive(Clone, Copy, Debug)]
pub struct Sha256;
/// SHA-384.
#[derive(Clone, Copy, Debug)]
pub struct Sha384;
/// SHA-512.
#[derive(Clone, Copy, Debug)]
pub struct Sha512;

impl Hash for Sha1 {
    const BLOCK_BYTES: usize = 64;
    const DIGEST_BYTES: usize = 20;
    const ORDER: &[(HashForm, usize)] = &[
        (HashForm::V4, 9),
        (HashForm::V3, 7),
        (HashForm::Extensions, 2),
        (HashForm::V3, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    type V3 = V3x32;
    #[cfg(target_arch = "x86_64")]
    type V4 = V4x32;
}

impl Hash for Sha256 {
    const BLOCK_BYTES: usize = 64;
    const DIGEST_BYTES: usize = 32;
    const ORDER: &[(HashForm, usize)] = &[
        (HashForm::V4, 11),
        (HashForm::Extensions, 2),
        (HashForm::V3, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    type V3 = V3x32;
    #[cfg(target_arch = "x86_64")]
    type V4 = V4x32;
}

impl Hash for Sha384 {
    const BLOCK_BYTES: usize = 128;
    const DIGEST_BYTES: usize = 48;
    const ORDER: &[(HashForm, usize)] = &LONG_ORDER;
    #[cfg(target_arch = "x86_64")]
    type V3 = V3x64;
    #[cfg(target_arch = "x86_64")]
    type V4 = V4x64;
}

impl Hash for Sha512 {
    const BLOCK_BYTES: usize = 128;
    const DIGEST_BYTES: usize = 64;
    const ORDER: &[(HashForm, usize)] = &LONG_ORDER;
    #[cfg(target_arch = "x86_64")]
    type V3 = V3x64;
    #[cfg(target_arch = "x86_64")]
    type V4 = V4x64;
}

impl sealed::Compress for Sha1 {
    type Word = u32;
    const INITIAL: [u32; 8] = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
        0,
        0,
        0,
    ];

    fn compress(state: &mut [u32; 8], blocks: &[u8]) {
        if let Some(state) = state.first_chunk_mut() {
            sha1::block_api::compress(state, blocks.as_chunks().0);
        }
    }

    #[inline(always)]
    fn rounds<W: Words<Word = u32>>(state: &mut [W; 8], block: &mut [W; 16]) {
        rounds::sha1(state, block);
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn compress_two(states: &mut [[u32; 8]; 2], sources: [*const u8; 2], count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { extensions::sha1(states, sources, count) }
    }

    const HAS_EXTENSIONS: bool = true;
}

impl sealed::Compress for Sha256 {
    type Word = u32;
    const INITIAL: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    fn compress(state: &mut [u32; 8], blocks: &[u8]) {
        sha2::block_api::compress256(state, blocks.as_chunks().0);
    }

    #[inline(always)]
    fn rounds<W: Words<Word = u32>>(state: &mut [W; 8], block: &mut [W; 16]) {
        rounds::sha256(state, block);
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn compress_two(states: &mut [[u32; 8]; 2], sources: [*const u8; 2], count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { extensions::sha256(states, sources, count) }
    }

    const HAS_EXTENSIONS: bool = true;
}

/// Forms of the hashes with words of 64 bits.
const LONG_ORDER: [(HashForm, usize); 2] = [(HashForm::V4, 5), (HashForm::V3, 2)];

/// Implements the compression of the hashes with words of 64 bits.
macro_rules! long {
    ($hash:ty, $initial:expr) => {
        impl sealed::Compress for $hash {
            type Word = u64;
            const INITIAL: [u64; 8] = $initial;

            fn compress(state: &mut [u64; 8], blocks: &[u8]) {
                sha2::block_api::compress512(state, blocks.as_chunks().0);
            }

            #[inline(always)]
            fn rounds<W: Words<Word = u64>>(state: &mut [W; 8], block: &mut [W; 16]) {
                rounds::sha512(state, block);
            }

            #[cfg(target_arch = "x86_64")]
            unsafe fn compress_two(_: &mut [[u64; 8]; 2], _: [*const u8; 2], _: usize) {
                unreachable!("the extensions lack this hash")
            }

            const HAS_EXTENSIONS: bool = false;
        }
    };
}

long!(
    Sha384,
    [
        0xcbbb_9d5d_c105_9ed8,
        0x629a_292a_367c_d507,
        0x9159_015a_3070_dd17,
        0x152f_ecd8_f70e_5939,
        0x6733_2667_ffc0_0b31,
        0x8eb4_4a87_6858_1511,
        0xdb0c_2e0d_64f9_8fa7,
        0x47b5_481d_befa_4fa4,
    ]
);
long!(
    Sha512,
    [
        0x6a09_e667_f3bc_c908,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
        0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1,
        0x9b05_688c_2b3e_6c1f,
        0x1f83_d9ab_fb41_bd6b,
        0x5be0_cd19_137e_2179,
    ]
);
