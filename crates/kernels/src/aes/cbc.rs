//! CBC encryption of sixteen packets at a time, each with its own key.
//!
//! A register holds a block of several packets: four with AVX-512, two with AVX2. Four blocks of each packet are
//! loaded at once and transposed, so that text moves in long pieces.

use core::arch::x86_64::*;

use super::wide::{self, BLOCK};
use super::{Chain, KEYS};
use crate::sha::quarters;

/// Packets that advance together.
const CHAINS: usize = 16;

/// Implementation of CBC encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainForm {
    /// Eight packets, one block per register.
    Narrow,
    /// Sixteen packets, two per register: VAES with AVX2.
    V3,
    /// Sixteen packets, four per register: VAES with AVX-512.
    V4,
}

impl ChainForm {
    /// Returns the forms that this machine has.
    pub fn available() -> impl Iterator<Item = Self> {
        let all = [Self::Narrow, Self::V3, Self::V4];
        all.into_iter().filter(|form| form.is_available())
    }

    pub(super) fn is_available(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        let is_wide = has!("aes") && has!("avx2") && has!("vaes");
        let is_widest = has!("bmi2") && has!("avx512f") && has!("avx512bw");
        is_wide && (self != Self::V4 || is_widest)
    }
}

/// Encrypts packets in CBC mode.
///
/// # Safety
/// The processor has the instructions of the form.
pub(super) unsafe fn chain(form: ChainForm, chains: &mut [Chain<'_>]) {
    let mut active = chains;
    loop {
        let mut count = 0;
        for at in 0..active.len() {
            if active[at].text.len() >= BLOCK {
                active.swap(at, count);
                count += 1;
            }
        }
        active = &mut active[..count];
        let Some(group) = active.first_chunk_mut::<CHAINS>() else {
            break;
        };
        let rounds = group[0].aes.rounds;
        if form == ChainForm::Narrow || group.iter().any(|chain| chain.aes.rounds != rounds) {
            // SAFETY: an `Aes` exists only if the processor has the features of the function.
            unsafe { wide::chain(group) };
            continue;
        }
        // SAFETY: guaranteed by the caller; the packets have equal numbers of rounds.
        unsafe {
            match form {
                ChainForm::V4 => advance_v4(group),
                _ => advance_v3(group),
            }
        }
    }
    // SAFETY: as above.
    unsafe { wide::chain(active) }
}

#[target_feature(enable = "aes,avx2,avx512f,vaes")]
unsafe fn advance_v4(chains: &mut [Chain<'_>; CHAINS]) {
    // SAFETY: the function has the features.
    unsafe { advance::<V4, 4>(chains) }
}

#[target_feature(enable = "aes,avx2,vaes")]
unsafe fn advance_v3(chains: &mut [Chain<'_>; CHAINS]) {
    // SAFETY: the function has the features.
    unsafe { advance::<V3, 8>(chains) }
}

/// Addresses of one field of each packet.
type Pointers = [*mut u8; CHAINS];

/// Encrypts as many blocks of each packet as the shortest has, and advances texts and initialization vectors.
///
/// # Safety
/// The calling function is compiled for the instructions of `B`; `N` registers hold all packets; the packets have
/// equal numbers of rounds.
#[inline(always)]
unsafe fn advance<B: Blocks, const N: usize>(chains: &mut [Chain<'_>; CHAINS]) {
    let last = chains[0].aes.rounds.min(KEYS - 1);
    let mut blocks = usize::MAX;
    let mut texts: Pointers = [core::ptr::null_mut(); CHAINS];
    let (mut vectors, mut schedules) = (texts, texts);
    for (at, chain) in chains.iter_mut().enumerate() {
        blocks = blocks.min(chain.text.len() / BLOCK);
        texts[at] = chain.text.as_mut_ptr();
        vectors[at] = (&raw mut chain.vector).cast();
        schedules[at] = (&raw const chain.aes.encrypt).cast_mut().cast();
    }
    // SAFETY: only blocks before `blocks` are read and written, the schedules are only read, and the vectors are
    // borrowed mutably.
    unsafe {
        let zero = B::gather(&vectors, 0, 0);
        let mut heads = [zero; N];
        let mut keys = [[zero; N]; KEYS];
        for register in 0..N {
            heads[register] = B::gather(&vectors, register * B::CHAINS, 0);
            for (round, keys) in keys.iter_mut().take(last + 1).enumerate() {
                keys[register] = B::gather(&schedules, register * B::CHAINS, round * BLOCK);
            }
        }
        let whole = blocks / 4 * 4;
        for at in (0..whole).step_by(4) {
            let mut text = [[zero; 4]; N];
            for (register, text) in text.iter_mut().enumerate() {
                *text = B::gather_four(&texts, register * B::CHAINS, at * BLOCK);
            }
            for block in 0..4 {
                for (head, text) in heads.iter_mut().zip(&text) {
                    *head = head.xor(text[block]);
                }
                encrypt(&mut heads, &keys, last);
                for (head, text) in heads.iter().zip(&mut text) {
                    text[block] = *head;
                }
            }
            for (register, text) in text.into_iter().enumerate() {
                B::scatter_four(text, &texts, register * B::CHAINS, at * BLOCK);
            }
        }
        for at in whole..blocks {
            for (register, head) in heads.iter_mut().enumerate() {
                *head = head.xor(B::gather(&texts, register * B::CHAINS, at * BLOCK));
            }
            encrypt(&mut heads, &keys, last);
            for (register, head) in heads.into_iter().enumerate() {
                head.scatter(&texts, register * B::CHAINS, at * BLOCK);
            }
        }
        for (register, head) in heads.into_iter().enumerate() {
            head.scatter(&vectors, register * B::CHAINS, 0);
        }
    }
    for chain in chains {
        let text = core::mem::take(&mut chain.text);
        chain.text = text.get_mut(blocks * BLOCK..).unwrap_or_default();
    }
}

/// Encrypts a block of each packet.
#[inline(always)]
fn encrypt<B: Blocks, const N: usize>(heads: &mut [B; N], keys: &[[B; N]; KEYS], last: usize) {
    for (head, key) in heads.iter_mut().zip(&keys[0]) {
        *head = head.xor(*key);
    }
    for keys in &keys[1..last] {
        for (head, key) in heads.iter_mut().zip(keys) {
            *head = head.round(*key);
        }
    }
    for (head, key) in heads.iter_mut().zip(&keys[last]) {
        *head = head.last_round(*key);
    }
}

/// A register with a block of each of several packets. Values exist only where the processor has its instructions.
trait Blocks: Copy {
    /// Packets per register.
    const CHAINS: usize;

    fn xor(self, other: Self) -> Self;
    fn round(self, key: Self) -> Self;
    fn last_round(self, key: Self) -> Self;

    /// Loads a block of each packet from `first` on.
    ///
    /// # Safety
    /// The blocks exist at `offset`; the processor has the instructions.
    unsafe fn gather(pointers: &Pointers, first: usize, offset: usize) -> Self;

    /// Stores a block of each packet.
    ///
    /// # Safety
    /// The blocks exist at `offset`, and are borrowed mutably.
    unsafe fn scatter(self, pointers: &Pointers, first: usize, offset: usize);

    /// Loads four blocks of each packet.
    ///
    /// # Safety
    /// The blocks exist at `offset`; the processor has the instructions.
    unsafe fn gather_four(pointers: &Pointers, first: usize, offset: usize) -> [Self; 4];

    /// Stores four blocks of each packet.
    ///
    /// # Safety
    /// The blocks exist at `offset`, and are borrowed mutably.
    unsafe fn scatter_four(blocks: [Self; 4], pointers: &Pointers, first: usize, offset: usize);
}

/// Blocks of two packets.
#[derive(Clone, Copy)]
struct V3(__m256i);

impl Blocks for V3 {
    const CHAINS: usize = 2;

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value exists only where the processor has the instructions.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_aesenc_epi128(self.0, key.0) })
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_aesenclast_epi128(self.0, key.0) })
    }

    #[inline(always)]
    unsafe fn gather(pointers: &Pointers, first: usize, offset: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let one = _mm_loadu_si128(pointers[first].add(offset).cast());
            let other = _mm_loadu_si128(pointers[first + 1].add(offset).cast());
            Self(_mm256_inserti128_si256::<1>(
                _mm256_castsi128_si256(one),
                other,
            ))
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, pointers: &Pointers, first: usize, offset: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (one, other) = (
                _mm256_castsi256_si128(self.0),
                _mm256_extracti128_si256::<1>(self.0),
            );
            _mm_storeu_si128(pointers[first].add(offset).cast(), one);
            _mm_storeu_si128(pointers[first + 1].add(offset).cast(), other);
        }
    }

    #[inline(always)]
    unsafe fn gather_four(pointers: &Pointers, first: usize, offset: usize) -> [Self; 4] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (one, other) = (pointers[first].add(offset), pointers[first + 1].add(offset));
            let a = _mm256_loadu_si256(one.cast());
            let b = _mm256_loadu_si256(other.cast());
            let c = _mm256_loadu_si256(one.add(32).cast());
            let d = _mm256_loadu_si256(other.add(32).cast());
            [
                Self(_mm256_permute2x128_si256::<0x20>(a, b)),
                Self(_mm256_permute2x128_si256::<0x31>(a, b)),
                Self(_mm256_permute2x128_si256::<0x20>(c, d)),
                Self(_mm256_permute2x128_si256::<0x31>(c, d)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn scatter_four(blocks: [Self; 4], pointers: &Pointers, first: usize, offset: usize) {
        let [Self(a), Self(b), Self(c), Self(d)] = blocks;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (one, other) = (pointers[first].add(offset), pointers[first + 1].add(offset));
            _mm256_storeu_si256(one.cast(), _mm256_permute2x128_si256::<0x20>(a, b));
            _mm256_storeu_si256(other.cast(), _mm256_permute2x128_si256::<0x31>(a, b));
            _mm256_storeu_si256(one.add(32).cast(), _mm256_permute2x128_si256::<0x20>(c, d));
            _mm256_storeu_si256(
                other.add(32).cast(),
                _mm256_permute2x128_si256::<0x31>(c, d),
            );
        }
    }
}

/// Blocks of four packets.
#[derive(Clone, Copy)]
struct V4(__m512i);

impl Blocks for V4 {
    const CHAINS: usize = 4;

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: a value exists only where the processor has the instructions.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_aesenc_epi128(self.0, key.0) })
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_aesenclast_epi128(self.0, key.0) })
    }

    #[inline(always)]
    unsafe fn gather(pointers: &Pointers, first: usize, offset: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut blocks = [_mm_setzero_si128(); 4];
            for (block, pointer) in blocks.iter_mut().zip(&pointers[first..first + 4]) {
                *block = _mm_loadu_si128(pointer.add(offset).cast());
            }
            let register = _mm512_castsi128_si512(blocks[0]);
            let register = _mm512_inserti32x4::<1>(register, blocks[1]);
            let register = _mm512_inserti32x4::<2>(register, blocks[2]);
            Self(_mm512_inserti32x4::<3>(register, blocks[3]))
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, pointers: &Pointers, first: usize, offset: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let blocks = [
                _mm512_castsi512_si128(self.0),
                _mm512_extracti32x4_epi32::<1>(self.0),
                _mm512_extracti32x4_epi32::<2>(self.0),
                _mm512_extracti32x4_epi32::<3>(self.0),
            ];
            for (block, pointer) in blocks.into_iter().zip(&pointers[first..first + 4]) {
                _mm_storeu_si128(pointer.add(offset).cast(), block);
            }
        }
    }

    #[inline(always)]
    unsafe fn gather_four(pointers: &Pointers, first: usize, offset: usize) -> [Self; 4] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut rows = [_mm512_setzero_si512(); 4];
            for (row, pointer) in rows.iter_mut().zip(&pointers[first..first + 4]) {
                *row = _mm512_loadu_si512(pointer.add(offset).cast());
            }
            let [a, b, c, d] = quarters(rows);
            [Self(a), Self(b), Self(c), Self(d)]
        }
    }

    #[inline(always)]
    unsafe fn scatter_four(blocks: [Self; 4], pointers: &Pointers, first: usize, offset: usize) {
        let [Self(a), Self(b), Self(c), Self(d)] = blocks;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let rows = quarters([a, b, c, d]);
            for (row, pointer) in rows.into_iter().zip(&pointers[first..first + 4]) {
                _mm512_storeu_si512(pointer.add(offset).cast(), row);
            }
        }
    }
}
