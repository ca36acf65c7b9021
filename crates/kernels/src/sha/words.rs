//! Registers that hold one word of each lane.

use super::{Engine, Hash, MAX_LANES, State, Word};

/// A register with one word of each lane.
///
/// Values exist only in functions that are compiled for the register's instruction set. Methods are inlined into
/// these functions.
pub trait Words: Copy {
    /// A word.
    type Word: Word;
    /// Number of lanes.
    const LANES: usize;

    /// Returns a register with the word in every lane.
    ///
    /// # Safety
    /// The processor has the instruction set.
    unsafe fn splat(word: Self::Word) -> Self;

    /// Adds modulo the word length.
    fn add(self, other: Self) -> Self;

    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;

    /// Bitwise exclusive or of three registers.
    fn parity(self, b: Self, c: Self) -> Self;

    /// `Ch` of FIPS 180-4: bits of `b` where `self` has ones, otherwise of `c`.
    fn choose(self, b: Self, c: Self) -> Self;

    /// `Maj` of FIPS 180-4: the value of most of the three bits.
    fn majority(self, b: Self, c: Self) -> Self;

    /// Rotates to the left by `LEFT` bits; `RIGHT` is the length of a word less `LEFT`.
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// Shifts to the right.
    fn shift<const RIGHT: i32>(self) -> Self;

    /// Loads a word of each lane.
    ///
    /// # Safety
    /// The processor has the instruction set.
    unsafe fn load(words: &[Self::Word; MAX_LANES]) -> Self;

    /// Stores a word of each lane.
    fn store(self, words: &mut [Self::Word; MAX_LANES]);

    /// Loads the words of a block of each lane, which begins `offset` bytes after its source.
    ///
    /// # Safety
    /// The processor has the instruction set; each source has a whole block there.
    unsafe fn block(sources: &[*const u8; MAX_LANES], offset: usize) -> [Self; 16];
}

/// States of all lanes: each row has one word of every lane.
#[repr(align(64))]
pub struct Transposed<T>([[T; MAX_LANES]; 8]);

impl<T: Word> Default for Transposed<T> {
    fn default() -> Self {
        Self([[T::default(); MAX_LANES]; 8])
    }
}

impl<T: Word> Transposed<T> {
    /// Sets the state of a lane.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, state: &[T; 8]) {
        for (row, word) in self.0.iter_mut().zip(state) {
            row[lane] = *word;
        }
    }

    /// Returns the state of a lane.
    #[inline(always)]
    pub(super) fn lane(&self, lane: usize) -> [T; 8] {
        self.0.each_ref().map(|row| row[lane])
    }

    /// Compresses `count` blocks of each lane in registers `W`.
    ///
    /// # Safety
    /// The calling function is compiled for the instruction set of `W`; each source has that many blocks.
    #[inline(always)]
    pub(super) unsafe fn compress<H: Hash<Word = T>, W: Words<Word = T>>(
        &mut self,
        sources: &[*const u8; MAX_LANES],
        count: usize,
    ) {
        // SAFETY: the processor has the instruction set, and blocks before `count` exist.
        unsafe {
            let mut state = [W::load(&self.0[0]); 8];
            for (words, row) in state.iter_mut().zip(&self.0) {
                *words = W::load(row);
            }
            for at in 0..count {
                let mut block = W::block(sources, at * H::BLOCK_BYTES);
                H::rounds(&mut state, &mut block);
            }
            for (row, words) in self.0.iter_mut().zip(state) {
                words.store(row);
            }
        }
    }
}

/// Implements [`Engine`] for a register type by a function for its instruction set.
macro_rules! engine {
    ($words:ty, $word:ty, $features:literal) => {
        impl<H: Hash<Word = $word>> Engine<H> for $words {
            const LANES: usize = <Self as Words>::LANES;
            type States = Transposed<$word>;

            #[inline(always)]
            fn set(states: &mut Self::States, lane: usize, state: &State<H>) {
                states.set(lane, state);
            }

            #[inline(always)]
            fn state(states: &Self::States, lane: usize) -> State<H> {
                states.lane(lane)
            }

            #[inline(always)]
            unsafe fn compress(
                states: &mut Self::States,
                sources: &[*const u8; MAX_LANES],
                count: usize,
            ) {
                #[target_feature(enable = $features)]
                unsafe fn compress<H: Hash<Word = $word>>(
                    states: &mut Transposed<$word>,
                    sources: &[*const u8; MAX_LANES],
                    count: usize,
                ) {
                    // SAFETY: this function has the features; the caller guarantees the blocks.
                    unsafe { states.compress::<H, $words>(sources, count) }
                }
                // SAFETY: guaranteed by the caller.
                unsafe { compress::<H>(states, sources, count) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod engines {
    use super::super::{V3x32, V3x64, V4x32, V4x64};
    use super::*;

    engine!(V3x32, u32, "avx2");
    engine!(V3x64, u64, "avx2");
    engine!(V4x32, u32, "avx512f,avx512bw");
    engine!(V4x64, u64, "avx512f,avx512bw");
}
