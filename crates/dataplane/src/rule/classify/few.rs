//! A few spans of rows of one word, looked up for 16 packets at once without a table in memory.

use kernels::Lanes;

/// How many boundaries there are at most.
const BOUNDARIES: usize = 31;

/// See the module.
#[derive(Debug)]
pub(super) struct Few {
    /// Where spans begin but for the first; behind the last of them numbers that say nothing.
    boundaries: [u32; BOUNDARIES + 1],
    /// By span: its row; behind the last span that of the last.
    rows: [u64; BOUNDARIES + 1],
}

impl Few {
    /// `rows` has one more than `boundaries`, which are in order. None where those are many.
    pub(super) fn of(boundaries: &[u32], rows: &[u64]) -> Option<Self> {
        let last = *rows.get(boundaries.len())?;
        (boundaries.len() <= BOUNDARIES).then(|| Self {
            boundaries: core::array::from_fn(|at| boundaries.get(at).copied().unwrap_or(u32::MAX)),
            rows: core::array::from_fn(|at| match at <= boundaries.len() {
                true => rows[at],
                false => last,
            }),
        })
    }

    /// The row of one number.
    #[inline(always)]
    pub(super) fn row(&self, number: u32) -> u64 {
        let boundaries = self.boundaries.iter().take(BOUNDARIES);
        let below: usize = boundaries.map(|one| usize::from(*one <= number)).sum();
        self.rows[below]
    }

    /// The rows of 16 numbers.
    #[inline(always)]
    pub(super) fn rows<L: Lanes>(&self, lanes: L, numbers: &[u32; 16]) -> [u64; 16] {
        lanes.rows(&self.boundaries, &self.rows, numbers)
    }
}
