//! A few spans of rows of one word, looked up for 16 packets at once without a table in memory.

use kernels::{Lanes, Squeeze};

use super::ranks::Ranks;

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
    /// `rows` has one more than there are `boundaries`. None where those are many.
    pub(super) fn of(boundaries: &Ranks, rows: &[u64]) -> Option<Self> {
        let boundaries = boundaries.numbers();
        (boundaries.len() <= BOUNDARIES).then(|| Self {
            boundaries: core::array::from_fn(|at| boundaries.get(at).copied().unwrap_or(u32::MAX)),
            rows: core::array::from_fn(|span| rows[span.min(boundaries.len())]),
        })
    }

    /// The row of one number.
    #[inline(always)]
    pub(super) fn row(&self, number: u32) -> u64 {
        let boundaries = self.boundaries.iter().take(BOUNDARIES);
        let below: usize = boundaries.map(|one| usize::from(*one <= number)).sum();
        self.rows[below]
    }

    /// Takes from 16 packets the rules that their numbers do not leave them.
    #[inline(always)]
    pub(super) fn narrow<L: Lanes>(&self, lanes: L, numbers: &[u32; 16], left: &mut [u64; 16]) {
        let rows = lanes.rows(&self.boundaries, &self.rows, numbers);
        for (left, row) in left.iter_mut().zip(rows) {
            *left &= row;
        }
    }
}

/// The same of addresses of IPv6, by their higher halves; of a few of those the lower ones are looked at.
#[derive(Debug)]
pub(super) struct WideFew {
    /// Where spans of higher halves begin; behind the last of them numbers that say nothing.
    highs: [u64; BOUNDARIES + 1],
    /// The same, squeezed, where that can be.
    squeezed: Option<(Squeeze, [u32; BOUNDARIES + 1])>,
    /// By span, and behind the last the same as of that.
    rows: [Row; BOUNDARIES + 1],
    /// From which lower halves on which row holds.
    lows: Box<[(u64, u64)]>,
}

/// What a span of higher halves has.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its row; all rules where lower halves say which.
    bits: u64,
    /// Those in `lows`, of which the first is 0: where they begin and end. None elsewhere.
    lows: (u32, u32),
}

impl Row {
    const fn of(bits: u64) -> Self {
        Self { bits, lows: (0, 0) }
    }
}

impl WideFew {
    /// `rows` has one more than `boundaries`, which are in order. None where those have many higher halves.
    pub(super) fn of(boundaries: &[u128], rows: &[u64]) -> Option<Self> {
        let (mut before, rows) = rows.split_first().map(|(first, rows)| (*first, rows))?;
        let half = |number: &u128| (number >> 64) as u64;
        let (mut highs, mut lows) = (Vec::new(), Vec::new());
        let mut spans = vec![Row::of(before)];
        let mut rest = rows.iter();
        for group in boundaries.chunk_by(|one, other| half(one) == half(other)) {
            let rows = rest.by_ref().take(group.len());
            let start = lows.len();
            lows.push((0, before));
            lows.extend(group.iter().map(|number| *number as u64).zip(rows.copied()));
            before = lows.last()?.1;
            let high = half(&group[0]);
            highs.push(high);
            if group.iter().all(|number| *number as u64 == 0) {
                lows.truncate(start);
                spans.push(Row::of(before));
                continue;
            }
            spans.push(Row {
                bits: u64::MAX,
                lows: (start as u32, lows.len() as u32),
            });
            // The next half may be a boundary of its own; then this span is empty.
            if let Some(next) = high.checked_add(1) {
                highs.push(next);
                spans.push(Row::of(before));
            }
        }
        let last = *spans.last()?;
        let squeezed = Squeeze::of(&highs).map(|squeeze| {
            let number = |at: usize| highs.get(at).map_or(u32::MAX, |high| squeeze.number(*high));
            (squeeze, core::array::from_fn(number))
        });
        (highs.len() <= BOUNDARIES).then(|| Self {
            squeezed,
            highs: core::array::from_fn(|at| highs.get(at).copied().unwrap_or(u64::MAX)),
            rows: core::array::from_fn(|at| spans.get(at).copied().unwrap_or(last)),
            lows: lows.into(),
        })
    }

    /// Takes from 16 packets the rules that their addresses do not leave them.
    #[inline(always)]
    pub(super) fn narrow<L: Lanes>(&self, lanes: L, addresses: &[u128; 16], left: &mut [u64; 16]) {
        let spans = match &self.squeezed {
            Some(squeezed) if L::SQUEEZES => of_squeezed(lanes, squeezed, addresses),
            _ => lanes.few_ranks(&self.highs, &lanes.highs(addresses)),
        };
        self.narrow_in(&spans, addresses, left);
    }

    /// The same; their higher halves lie in these spans.
    #[inline(always)]
    fn narrow_in(&self, spans: &[u32; 16], addresses: &[u128; 16], left: &mut [u64; 16]) {
        let mut deep = 0;
        for (at, (left, span)) in left.iter_mut().zip(spans).enumerate() {
            let row = &self.rows[*span as usize % (BOUNDARIES + 1)];
            *left &= row.bits;
            deep |= u32::from(row.lows.1 != 0) << at;
        }
        while deep != 0 {
            let at = deep.trailing_zeros() as usize % 16;
            left[at] &= self.of_low(spans[at], addresses[at] as u64);
            deep &= deep - 1;
        }
    }

    /// The row of a lower half, in a span of higher ones that has some.
    #[inline(always)]
    fn of_low(&self, span: u32, low: u64) -> u64 {
        let (from, to) = self.rows[span as usize % (BOUNDARIES + 1)].lows;
        let lows = &self.lows[from as usize..to as usize];
        let at = lows.partition_point(|(first, _)| *first <= low);
        // The first one is 0.
        let row = lows.get(at.wrapping_sub(1));
        row.map_or(u64::MAX, |(_, row)| *row)
    }
}

/// The spans of the higher halves of 16 addresses.
#[inline(always)]
fn of_squeezed<L: Lanes>(
    lanes: L,
    (squeeze, numbers): &(Squeeze, [u32; BOUNDARIES + 1]),
    addresses: &[u128; 16],
) -> [u32; 16] {
    lanes.ranks(numbers, numbers, &lanes.squeeze(addresses, squeeze))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::Baseline;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn addresses_have_the_row_of_their_span(
            boundaries in proptest::collection::btree_set((0_usize..5, 0_u64..4), 0..14),
            addresses: [(u8, u8); 16],
            bits: u64,
        ) {
            // Halves that follow each other, and the greatest, behind which there is none.
            let highs = [0, 1, 7, u64::MAX - 1, u64::MAX];
            let lows = [0, 1, 9, u64::MAX];
            let joined = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
            let boundary = |(high, low): (usize, u64)| joined(highs[high], lows[low as usize]);
            let boundaries: Vec<u128> = boundaries.into_iter().map(boundary).collect();
            let row = |span: usize| bits.rotate_left(span as u32 * 7) | 1 << span;
            let rows: Vec<u64> = (0..=boundaries.len()).map(row).collect();
            let few = WideFew::of(&boundaries, &rows).expect("few higher halves");
            let address = |(high, low): (u8, u8)| {
                joined(highs[high as usize % 5].wrapping_add(u64::from(high & 1)), lows[low as usize % 4])
            };
            let addresses = addresses.map(address);

            let mut left = [u64::MAX; 16];
            few.narrow(Baseline, &addresses, &mut left);
            if let Some(squeezed) = &few.squeezed {
                let mut same = [u64::MAX; 16];
                few.narrow_in(&of_squeezed(Baseline, squeezed, &addresses), &addresses, &mut same);
                prop_assert_eq!(same, left);
            }

            let right = addresses.map(|address| {
                rows[boundaries.partition_point(|boundary| *boundary <= address)]
            });
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn many_higher_halves_are_not_few() {
        let boundaries: Vec<u128> = (1..=32).map(|high| high << 64).collect();

        assert!(WideFew::of(&boundaries[..31], &[1; 32]).is_some());
        assert!(WideFew::of(&boundaries, &[1; 33]).is_none());
    }
}
