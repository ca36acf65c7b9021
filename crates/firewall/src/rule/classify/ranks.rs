//! Finds the range of a number among sorted boundaries: a static search tree of cache lines, compared a line
//! at a time with the widest SIMD instructions available.
//!
//! A line of 16 numbers has 17 children, a line of 8 long numbers has 9; 272 boundaries take two lines, 4,624
//! take three. Unused numbers are all ones, so that a search ends at the last line at most.

use kernels::{Every, Lanes, Squeeze, parted};

/// Maximum number of levels: nine to the seventh exceeds the number of boundaries.
const LEVELS: usize = 7;

/// The lines of a tree, level by level from the root; the leaves contain all numbers.
#[derive(Debug)]
struct Tree<T, const N: usize> {
    lines: Box<[[T; N]]>,
    /// For each level: index of its first line, and its last line relative to that.
    levels: [(u32, u32); LEVELS],
    /// Number of levels.
    count: usize,
}

/// Computes the rank of a 32-bit key in a sorted set: the count of numbers up to the key. A single key
/// descends the tree; many keys at once bisect the leaves step by step.
#[derive(Debug)]
pub(super) struct Ranks {
    tree: Tree<u32, 16>,
    /// The last number of each section of the leaves.
    every: Every,
    len: usize,
}

/// Minimum length of a section if there are several.
const LINE: usize = 16;

/// Computes the rank of a 128-bit key in a sorted set: searches the high halves, and the low
/// halves only among equal high halves.
#[derive(Debug)]
pub(super) struct WideRanks {
    tree: Tree<u64, 8>,
    /// The last high half of each section of the leaves.
    every: [u64; 32],
    /// The leaves and their sections in compressed form, if they can be compressed.
    squeezed: Option<Box<Squeezed>>,
    /// By the rank of a high half: the number's rank, or [`DEEP`] and an index into `deep` if the low half
    /// decides.
    from: Box<[u32]>,
    /// For such a high half: begin and end of its numbers.
    deep: Box<[(u32, u32)]>,
    low: Box<[u64]>,
}

/// High halves compressed to 32 bits.
#[derive(Debug)]
struct Squeezed {
    squeeze: Squeeze,
    leaves: Box<[u32]>,
    every: Every,
}

impl Squeezed {
    fn of(highs: &[u64]) -> Option<Self> {
        let squeeze = Squeeze::of(highs)?;
        let short = highs.iter().map(|high| squeeze.number(*high)).collect();
        let (leaves, every) = parted(short, LINE, u32::MAX);
        let every = Every::new(&leaves, every);
        Some(Self {
            squeeze,
            leaves: leaves.into(),
            every,
        })
    }

    /// Counts how many leaves, including padding, are at most the high half of each key.
    #[inline(always)]
    fn ranks<L: Lanes>(&self, lanes: L, keys: &[u128; 16]) -> [u32; 16] {
        let keys = lanes.squeeze(keys, &self.squeeze);
        lanes.ranks(&self.leaves, &self.every, &keys)
    }
}

/// Flag in place of a rank: the low half decides.
const DEEP: u32 = 1 << 31;

impl<T: Copy, const N: usize> Tree<T, N> {
    /// Builds a tree of sorted `numbers`; `pad` is the greatest number.
    fn new(numbers: &[T], pad: T) -> Self {
        let mut tree = Self {
            lines: Box::default(),
            levels: [(0, 0); LEVELS],
            count: 0,
        };
        let line = |some: &[T]| core::array::from_fn(|at| some.get(at).copied().unwrap_or(pad));
        // The first number under each line of the level below.
        let mut firsts: Vec<T> = numbers.iter().step_by(N).copied().collect();
        let mut leaves = numbers.to_vec();
        leaves.resize(leaves.len().max(1), pad);
        let mut levels = vec![leaves];
        while firsts.len() > 1 {
            let (mut level, mut above) = (Vec::new(), Vec::new());
            for family in firsts.chunks(N + 1) {
                above.push(family[0]);
                level.extend(&family[1..]);
                level.resize(above.len() * N, pad);
            }
            levels.push(level);
            firsts = above;
        }
        let mut lines = Vec::new();
        for (level, numbers) in levels.iter().rev().take(LEVELS).enumerate() {
            let start = lines.len();
            lines.extend(numbers.chunks(N).map(line));
            tree.levels[level] = (start as u32, (lines.len() - start) as u32 - 1);
            tree.count += 1;
        }
        tree.lines = lines.into();
        tree
    }

    /// Returns the position of a number among the leaves; `rank` counts within a line.
    #[inline(always)]
    fn leaf(&self, rank: impl Fn(&[T; N]) -> u32) -> usize {
        let (mut line, mut found) = (0, 0);
        for (start, last) in self.levels.iter().take(self.count) {
            line = (line * (N as u32 + 1) + found).min(*last);
            found = rank(&self.lines[(start + line) as usize]);
        }
        line as usize * N + found as usize
    }

    /// Returns all numbers, including the padding of the last line.
    #[inline(always)]
    fn leaves(&self) -> &[T] {
        let start = self.levels[self.count.saturating_sub(1)].0 as usize;
        let lines = self.lines.get(start..).unwrap_or_default();
        lines.as_flattened()
    }
}

impl Ranks {
    /// Builds the set from sorted distinct `numbers`.
    pub(super) fn new(numbers: &[u32]) -> Self {
        let (leaves, every) = parted(numbers.to_vec(), LINE, u32::MAX);
        let every = Every::new(&leaves, every);
        Self {
            every,
            tree: Tree::new(&leaves, u32::MAX),
            len: numbers.len(),
        }
    }

    /// Returns the rank of `key`.
    #[inline(always)]
    pub(super) fn rank<L: Lanes>(&self, lanes: L, key: u32) -> usize {
        let rank = self.tree.leaf(
            #[inline(always)]
            |line| lanes.rank(line, key),
        );
        rank.min(self.len)
    }

    /// Returns the ranks of 16 keys.
    #[inline(always)]
    pub(super) fn ranks<L: Lanes>(&self, lanes: L, keys: &[u32; 16]) -> [u32; 16] {
        let len = self.len as u32;
        let mut ranks = lanes.ranks(self.tree.leaves(), &self.every, keys);
        for rank in &mut ranks {
            *rank = (*rank).min(len);
        }
        ranks
    }
}

impl WideRanks {
    /// Builds the set from sorted distinct `numbers`.
    pub(super) fn new(numbers: &[u128]) -> Self {
        let half = |number: &u128| (number >> 64) as u64;
        let (mut high, mut from, mut deep) = (Vec::new(), vec![0], Vec::new());
        let mut behind = 0;
        for group in numbers.chunk_by(|one, other| half(one) == half(other)) {
            let begin = behind;
            behind += group.len() as u32;
            high.push(half(&group[0]));
            if group.iter().all(|number| *number as u64 == 0) {
                from.push(behind);
                continue;
            }
            from.push(DEEP | deep.len() as u32);
            deep.push((begin, behind));
            // Separates the next high half, which needs no low half, unless it has numbers itself.
            let next = half(&group[0]).checked_add(1);
            let beside = numbers.get(behind as usize).map(half);
            if let Some(next) = next.filter(|next| beside != Some(*next)) {
                high.push(next);
                from.push(behind);
            }
        }
        let (leaves, every) = parted(high.clone(), LINE / 2, u64::MAX);
        Self {
            every,
            squeezed: Squeezed::of(&high).map(Box::new),
            tree: Tree::new(&leaves, u64::MAX),
            from: from.into(),
            deep: deep.into(),
            low: numbers.iter().map(|number| *number as u64).collect(),
        }
    }

    /// Returns the rank of `key`.
    #[inline(always)]
    pub(super) fn rank<L: Lanes>(&self, lanes: L, key: u128) -> usize {
        let half = (key >> 64) as u64;
        let rank = self.tree.leaf(
            #[inline(always)]
            |line| lanes.rank_u64(line, half),
        );
        match self.from[rank.min(self.from.len() - 1)] {
            rank if rank & DEEP != 0 => self.among(rank, key) as usize,
            rank => rank as usize,
        }
    }

    /// Returns the ranks of 16 keys.
    #[inline(always)]
    pub(super) fn ranks<L: Lanes>(&self, lanes: L, keys: &[u128; 16]) -> [u32; 16] {
        let highs = match &self.squeezed {
            Some(squeezed) if L::SQUEEZES => squeezed.ranks(lanes, keys),
            _ => lanes.ranks_u64(self.tree.leaves(), &self.every, &lanes.highs(keys)),
        };
        self.ranks_of(lanes, &highs, keys)
    }

    /// Returns the ranks of 16 keys, given the ranks of the keys' high halves.
    #[inline(always)]
    fn ranks_of<L: Lanes>(&self, lanes: L, highs: &[u32; 16], keys: &[u128; 16]) -> [u32; 16] {
        let mut ranks = lanes.gather(&self.from, highs);
        let mut marks = [0; 16];
        for (mark, rank) in marks.iter_mut().zip(&ranks) {
            *mark = rank & DEEP;
        }
        let mut deep = !lanes.zeros(&marks) & 0xffff;
        while deep != 0 {
            let at = deep.trailing_zeros() as usize % 16;
            ranks[at] = self.among(ranks[at], keys[at]);
            deep &= deep - 1;
        }
        ranks
    }

    /// Returns the rank of `key` among the numbers with its high half.
    #[inline(always)]
    fn among(&self, deep: u32, key: u128) -> u32 {
        let (from, to) = self.deep[(deep & !DEEP) as usize];
        let low = &self.low[from as usize..to as usize];
        from + low.partition_point(|one| *one <= key as u64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::Baseline;
    use proptest::prelude::*;

    fn narrow(ranks: &Ranks, key: u32) -> usize {
        let one = ranks.rank(Baseline, key);
        assert_eq!(ranks.ranks(Baseline, &[key; 16]), [one as u32; 16]);
        one
    }

    fn long(ranks: &WideRanks, key: u128) -> usize {
        let one = ranks.rank(Baseline, key);
        assert_eq!(ranks.ranks(Baseline, &[key; 16]), [one as u32; 16]);
        if let Some(squeezed) = &ranks.squeezed {
            let highs = squeezed.ranks(Baseline, &[key; 16]);
            let found = ranks.ranks_of(Baseline, &highs, &[key; 16]);
            assert_eq!(found, [one as u32; 16]);
        }
        one
    }

    #[test]
    fn trees_of_every_size_rank_correctly() {
        for len in [
            0, 1, 15, 16, 17, 71, 72, 73, 263, 264, 271, 272, 273, 289, 290, 1040, 1041, 4624, 6000,
        ] {
            let numbers: Vec<u32> = (0..len).map(|at| at * 3 + 1).collect();
            let ranks = Ranks::new(&numbers);
            let wide: Vec<u128> = numbers.iter().map(|one| u128::from(*one) << 64).collect();
            let wide = WideRanks::new(&wide);
            for key in (0..len * 3 + 9).chain([u32::MAX - 1, u32::MAX]) {
                let right = numbers.partition_point(|one| *one <= key);
                assert_eq!(narrow(&ranks, key), right, "{len} {key}");
                assert_eq!(long(&wide, u128::from(key) << 64 | 7), right);
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_numbers_rank_correctly(
            numbers in proptest::collection::btree_set(any::<u32>(), 0..400),
            halves in proptest::collection::btree_set((0_u64..9, any::<u64>()), 0..200),
            key: u32,
            wide: (u64, u64),
        ) {
            let edge = numbers.iter().copied().chain([u32::MAX]).collect::<Vec<_>>();
            for numbers in [numbers.into_iter().collect(), edge] {
                let ranks = Ranks::new(&numbers);
                for key in numbers.iter().copied().chain([key, u32::MAX]) {
                    let right = numbers.iter().filter(|one| **one <= key).count();
                    prop_assert_eq!(narrow(&ranks, key), right);
                }
            }
            let joined = |(high, low): (u64, u64)| u128::from(high) << 64 | u128::from(low);
            let numbers: Vec<u128> = halves.into_iter().map(joined).collect();
            let ranks = WideRanks::new(&numbers);
            let others = [joined(wide), joined((wide.0 % 9, wide.1)), 0, u128::MAX];
            for key in numbers.iter().copied().chain(others) {
                let right = numbers.iter().filter(|one| **one <= key).count();
                prop_assert_eq!(long(&ranks, key), right);
            }
        }
    }
}
