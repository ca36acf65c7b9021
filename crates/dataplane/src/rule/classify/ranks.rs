//! Which of many spans a number lies in: a static tree of cache lines, searched a line at a time
//! with the widest compares of the machine.
//!
//! A line of 16 numbers has 17 children, a line of 8 long ones 9; 272 boundaries take two lines,
//! 4,624 take three. Missing numbers are all ones, so that a search ends at the last line at most.

use kernels::Lanes;

/// Counts how many of a set of 32-bit numbers are at most another.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// From the root to the leaves, which hold all numbers.
    levels: Box<[Box<[[u32; 16]]>]>,
    len: u32,
}

/// The same of 128-bit numbers: their high halves are searched, and only among those that are equal
/// the low ones.
#[derive(Debug, Default)]
pub(super) struct WideRanks {
    levels: Box<[Box<[[u64; 8]]>]>,
    /// The high halves, each once.
    high: Box<[u64]>,
    /// Where the numbers with this high half begin; one more at the end.
    from: Box<[u32]>,
    low: Box<[u64]>,
}

/// The lines of a tree over numbers in order, root first; `pad` is the greatest number.
fn levels<T: Copy, const N: usize>(numbers: &[T], pad: T) -> Box<[Box<[[T; N]]>]> {
    let lines = |numbers: &[T]| -> Box<[[T; N]]> {
        let lines = numbers.chunks(N);
        let lines =
            lines.map(|some| core::array::from_fn(|at| some.get(at).copied().unwrap_or(pad)));
        lines.collect()
    };
    let mut levels = Vec::new();
    // The first number under each line of the level below.
    let mut firsts: Vec<T> = numbers.iter().step_by(N).copied().collect();
    levels.push(lines(numbers));
    while firsts.len() > 1 {
        let (mut line, mut above) = (Vec::new(), Vec::new());
        for family in firsts.chunks(N + 1) {
            above.push(family[0]);
            line.extend(&family[1..]);
            line.resize(line.len().next_multiple_of(N), pad);
            // A lone child needs a line, too.
            if family.len() == 1 {
                line.extend([pad; N]);
            }
        }
        levels.push(lines(&line));
        firsts = above;
    }
    levels.reverse();
    levels.into()
}

impl Ranks {
    /// `numbers` are in order, each once.
    pub(super) fn new(numbers: &[u32]) -> Self {
        Self {
            levels: match numbers.is_empty() {
                true => Box::default(),
                false => levels(numbers, u32::MAX),
            },
            len: numbers.len() as u32,
        }
    }

    /// How many of them are at most `key`.
    #[inline(always)]
    pub(super) fn rank<L: Lanes>(&self, lanes: L, key: u32) -> usize {
        let Some((leaves, above)) = self.levels.split_last() else {
            return 0;
        };
        let mut line = 0;
        for level in above {
            line = line * 17 + lanes.rank(&level[line.min(level.len() - 1)], key) as usize;
        }
        let line = line.min(leaves.len() - 1);
        let rank = line * 16 + lanes.rank(&leaves[line], key) as usize;
        rank.min(self.len as usize)
    }
}

impl WideRanks {
    /// `numbers` are in order, each once.
    pub(super) fn new(numbers: &[u128]) -> Self {
        let (mut high, mut from) = (Vec::new(), Vec::new());
        for (at, number) in numbers.iter().enumerate() {
            let half = (number >> 64) as u64;
            if high.last() != Some(&half) {
                high.push(half);
                from.push(at as u32);
            }
        }
        from.push(numbers.len() as u32);
        Self {
            levels: match high.is_empty() {
                true => Box::default(),
                false => levels(&high, u64::MAX),
            },
            high: high.into(),
            from: from.into(),
            low: numbers.iter().map(|number| *number as u64).collect(),
        }
    }

    /// How many of them are at most `key`.
    #[inline(always)]
    pub(super) fn rank<L: Lanes>(&self, lanes: L, key: u128) -> usize {
        let Some((leaves, above)) = self.levels.split_last() else {
            return 0;
        };
        let half = (key >> 64) as u64;
        let mut line = 0;
        for level in above {
            line = line * 9 + lanes.rank_u64(&level[line.min(level.len() - 1)], half) as usize;
        }
        let line = line.min(leaves.len() - 1);
        let rank = line * 8 + lanes.rank_u64(&leaves[line], half) as usize;
        let rank = rank.min(self.high.len());
        match rank.checked_sub(1) {
            Some(last) if self.high[last] == half => {
                let (from, to) = (self.from[last] as usize, self.from[rank] as usize);
                let low = &self.low[from..to];
                from + low.partition_point(|one| *one <= key as u64)
            }
            _ => self.from[rank] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::Baseline;
    use proptest::prelude::*;

    #[test]
    fn every_size_of_tree_counts_right() {
        for len in [0, 1, 15, 16, 17, 271, 272, 273, 289, 290, 4624, 4625, 6000] {
            let numbers: Vec<u32> = (0..len).map(|at| at * 3 + 1).collect();
            let ranks = Ranks::new(&numbers);
            let wide: Vec<u128> = numbers.iter().map(|one| u128::from(*one) << 64).collect();
            let wide = WideRanks::new(&wide);
            for key in (0..len * 3 + 9).chain([u32::MAX - 1, u32::MAX]) {
                let right = numbers.partition_point(|one| *one <= key);
                assert_eq!(ranks.rank(Baseline, key), right, "{len} {key}");
                assert_eq!(wide.rank(Baseline, u128::from(key) << 64 | 7), right);
            }
        }
    }

    proptest! {
        #[test]
        fn any_numbers_are_counted(
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
                    prop_assert_eq!(ranks.rank(Baseline, key), right);
                }
            }
            let long = |(high, low): (u64, u64)| u128::from(high) << 64 | u128::from(low);
            let numbers: Vec<u128> = halves.into_iter().map(long).collect();
            let ranks = WideRanks::new(&numbers);
            let others = [long(wide), long((wide.0 % 9, wide.1)), 0, u128::MAX];
            for key in numbers.iter().copied().chain(others) {
                let right = numbers.iter().filter(|one| **one <= key).count();
                prop_assert_eq!(ranks.rank(Baseline, key), right);
            }
        }
    }
}
