//! Classifies 16 IPv6 addresses at once by a few ranges with rows of one word, without a table in memory.

use kernels::{Lanes, Squeeze};

/// Maximum number of boundaries.
const BOUNDARIES: usize = 31;

/// Lookup by the upper halves of addresses; lower halves are compared only where a rule specifies more than
/// 64 bits.
#[derive(Debug)]
pub(super) struct WideFew {
    /// First upper half of each range; unused entries after the last are arbitrary.
    highs: [u64; BOUNDARIES + 1],
    /// The boundaries in compressed form, if they can be compressed.
    squeezed: Option<(Squeeze, [u32; BOUNDARIES + 1])>,
    /// The rows of each range; unused entries repeat the last.
    spans: Spans,
    /// Rows by first lower half, for the ranges that need them.
    lows: Box<[(u64, u64)]>,
}

/// Rows of the ranges of upper halves.
#[derive(Debug, Default)]
struct Spans {
    /// One row per range; all ones if the range uses `lows`.
    rows: [u64; BOUNDARIES + 1],
    /// Bit mask of the ranges that have another row for exactly one lower half, with that half and that row.
    /// Other ranges repeat their row.
    exact: u32,
    exact_lows: [u64; BOUNDARIES + 1],
    exact_rows: [u64; BOUNDARIES + 1],
    /// Bit mask of the ranges that use `lows`, with the range of their entries. The first entry begins at
    /// lower half 0.
    deep: u32,
    lows: [(u32, u32); BOUNDARIES + 1],
}

impl Spans {
    /// Converts at most `BOUNDARIES` + 1 ranges.
    fn of(all: &[Span]) -> Self {
        let mut spans = Self::default();
        for at in 0..=BOUNDARIES {
            let (row, low, exact_row) = match all.get(at).or(all.last()) {
                Some(Span::Row(row)) => (*row, 0, *row),
                Some(Span::Exact { row, low, at_low }) => {
                    spans.exact |= 1 << at;
                    (*row, *low, *at_low)
                }
                Some(Span::Deep(lows)) => {
                    spans.deep |= 1 << at;
                    spans.lows[at] = *lows;
                    (u64::MAX, 0, u64::MAX)
                }
                None => (u64::MAX, 0, u64::MAX),
            };
            spans.rows[at] = row;
            (spans.exact_lows[at], spans.exact_rows[at]) = (low, exact_row);
        }
        spans
    }
}

/// Rows of one range of upper halves.
enum Span {
    /// One row.
    Row(u64),
    /// One row, and another for a single lower half.
    Exact { row: u64, low: u64, at_low: u64 },
    /// Rows by lower half: begin and end in `lows`.
    Deep((u32, u32)),
}

impl Span {
    /// Returns the compact form of rows by first lower half, beginning at 0; `None` if they need a list.
    fn small(rows: &[(u64, u64)]) -> Option<Self> {
        let (row, low, at_low) = match *rows {
            [(_, row)] => return Some(Self::Row(row)),
            [(_, at_low), (1, row)] => (row, 0, at_low),
            [(_, row), (u64::MAX, at_low)] => (row, u64::MAX, at_low),
            [(_, row), (low, at_low), (next, same)] if next - low == 1 && same == row => {
                (row, low, at_low)
            }
            _ => return None,
        };
        Some(Self::Exact { row, low, at_low })
    }
}

impl WideFew {
    /// Builds the lookup; `rows` has one element more than the sorted `boundaries`. Returns `None` if there
    /// are too many upper halves.
    pub(super) fn of(boundaries: &[u128], rows: &[u64]) -> Option<Self> {
        let (mut before, rows) = rows.split_first().map(|(first, rows)| (*first, rows))?;
        let half = |number: &u128| (number >> 64) as u64;
        let (mut highs, mut lows) = (Vec::new(), Vec::new());
        let mut spans = vec![Span::Row(before)];
        let mut rest = rows.iter();
        for group in boundaries.chunk_by(|one, other| half(one) == half(other)) {
            let rows = rest.by_ref().take(group.len()).copied();
            let changes = group.iter().map(|number| *number as u64).zip(rows);
            let mut own = vec![(0, before)];
            for change in changes {
                // A row that begins at lower half 0 replaces the one before the half.
                if change.0 == 0 {
                    own.clear();
                }
                own.push(change);
            }
            before = own.last()?.1;
            let (high, is_deep) = (half(&group[0]), own.len() > 1);
            highs.push(high);
            spans.push(Span::small(&own).unwrap_or_else(|| {
                let start = lows.len() as u32;
                lows.extend(own);
                Span::Deep((start, lows.len() as u32))
            }));
            // The next half may be a boundary itself; then this range is empty.
            if let Some(next) = high.checked_add(1).filter(|_| is_deep) {
                highs.push(next);
                spans.push(Span::Row(before));
            }
        }
        if highs.len() > BOUNDARIES {
            return None;
        }
        let squeezed = Squeeze::of(&highs).map(|squeeze| {
            let number = |at: usize| highs.get(at).map_or(u32::MAX, |high| squeeze.number(*high));
            (squeeze, core::array::from_fn(number))
        });
        Some(Self {
            squeezed,
            highs: core::array::from_fn(|at| highs.get(at).copied().unwrap_or(u64::MAX)),
            spans: Spans::of(&spans),
            lows: lows.into(),
        })
    }

    /// Intersects the candidate rules of 16 packets with the rows of their addresses.
    #[inline(always)]
    pub(super) fn narrow<L: Lanes>(&self, lanes: L, addresses: &[u128; 16], left: &mut [u64; 16]) {
        let spans = match &self.squeezed {
            Some((squeeze, numbers)) if L::SQUEEZES => {
                of_squeezed(lanes, squeeze, numbers, addresses)
            }
            _ => lanes.few_ranks_u64(&self.highs, &lanes.highs(addresses)),
        };
        self.narrow_in(lanes, &spans, addresses, left);
    }

    /// Intersects the candidate rules, given the range of each address's upper half.
    #[inline(always)]
    fn narrow_in<L: Lanes>(
        &self,
        lanes: L,
        spans: &[u32; 16],
        addresses: &[u128; 16],
        left: &mut [u64; 16],
    ) {
        let mut rows = lanes.pick(&self.spans.rows, spans);
        let exact = lanes.marked(self.spans.exact, spans);
        if exact != 0 {
            self.exact_rows(lanes, exact, spans, addresses, &mut rows);
        }
        for (left, row) in left.iter_mut().zip(&rows) {
            *left &= row;
        }
        let mut deep = lanes.marked(self.spans.deep, spans);
        while deep != 0 {
            let at = deep.trailing_zeros() as usize % 16;
            left[at] &= self.of_low(spans[at], addresses[at] as u64);
            deep &= deep - 1;
        }
    }

    /// Replaces the rows of addresses that have the special lower half of their range; `exact` has a bit for
    /// each address to check.
    #[inline(always)]
    fn exact_rows<L: Lanes>(
        &self,
        lanes: L,
        mut exact: u32,
        spans: &[u32; 16],
        addresses: &[u128; 16],
        rows: &mut [u64; 16],
    ) {
        let Spans {
            exact_lows,
            exact_rows,
            ..
        } = &self.spans;
        if L::PICKS {
            let lows = lanes.pick(exact_lows, spans);
            let others = lanes.pick(exact_rows, spans);
            for (at, row) in rows.iter_mut().enumerate() {
                let is_exact = addresses[at] as u64 == lows[at];
                *row = if is_exact { others[at] } else { *row };
            }
            return;
        }
        while exact != 0 {
            let at = exact.trailing_zeros() as usize % 16;
            let span = spans[at] as usize % (BOUNDARIES + 1);
            if addresses[at] as u64 == exact_lows[span] {
                rows[at] = exact_rows[span];
            }
            exact &= exact - 1;
        }
    }

    /// Returns the row of a lower half in a range that uses `lows`.
    #[inline(always)]
    fn of_low(&self, span: u32, low: u64) -> u64 {
        let (from, to) = self.spans.lows[span as usize % (BOUNDARIES + 1)];
        let lows = &self.lows[from as usize..to as usize];
        let at = lows.partition_point(|(first, _)| *first <= low);
        // The first entry begins at 0.
        let row = lows.get(at.wrapping_sub(1));
        row.map_or(u64::MAX, |(_, row)| *row)
    }
}

/// Returns the range of each of 16 addresses by compressed upper halves.
#[inline(always)]
fn of_squeezed<L: Lanes>(
    lanes: L,
    squeeze: &Squeeze,
    numbers: &[u32; BOUNDARIES + 1],
    addresses: &[u128; 16],
) -> [u32; 16] {
    lanes.few_ranks(numbers, &lanes.squeeze(addresses, squeeze))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::Baseline;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn addresses_map_to_the_row_of_their_range(
            boundaries in proptest::collection::btree_set((0_usize..5, 0_u64..4), 0..14),
            addresses: [(u8, u8); 16],
            // Neighbouring ranges may have equal rows.
            kinds in proptest::collection::vec(0_u32..3, 15),
        ) {
            // Consecutive halves, and the highest half.
            let highs = [0, 1, 7, u64::MAX - 1, u64::MAX];
            let lows = [0, 1, 2, u64::MAX];
            let joined = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
            let boundary = |(high, low): (usize, u64)| joined(highs[high], lows[low as usize]);
            let boundaries: Vec<u128> = boundaries.into_iter().map(boundary).collect();
            let row = |span: usize| 0x5a5a_0ff0_1234_8001_u64.rotate_left(kinds[span] * 7);
            let rows: Vec<u64> = (0..=boundaries.len()).map(row).collect();
            let few = WideFew::of(&boundaries, &rows).expect("few higher halves");
            let address = |(high, low): (u8, u8)| {
                joined(highs[high as usize % 5].wrapping_add(u64::from(high & 1)), lows[low as usize % 4])
            };
            let addresses = addresses.map(address);

            let mut left = [u64::MAX; 16];
            few.narrow(Baseline, &addresses, &mut left);
            if let Some((squeeze, numbers)) = &few.squeezed {
                let mut same = [u64::MAX; 16];
                let spans = of_squeezed(Baseline, squeeze, numbers, &addresses);
                few.narrow_in(Baseline, &spans, &addresses, &mut same);
                prop_assert_eq!(same, left);
            }

            let right = addresses.map(|address| {
                rows[boundaries.partition_point(|boundary| *boundary <= address)]
            });
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn a_single_low_half_needs_no_list() {
        let address = |low: u64| u128::from(7_u64) << 64 | u128::from(low);
        let of = |boundaries: &[u128], rows: &[u64]| {
            let few = WideFew::of(boundaries, rows).expect("few higher halves");
            (few.spans.exact, few.spans.deep)
        };

        assert_eq!(of(&[address(9), address(10)], &[1, 2, 1]), (1 << 1, 0));
        assert_eq!(of(&[address(0), address(1)], &[1, 2, 1]), (1 << 1, 0));
        assert_eq!(of(&[address(u64::MAX), 8 << 64], &[1, 2, 1]), (1 << 1, 0));
        assert_eq!(of(&[address(0), 8 << 64], &[1, 2, 1]), (0, 0));
        // Two lower halves, or different rows around one, need a list.
        assert_eq!(of(&[address(9), address(11)], &[1, 2, 1]), (0, 1 << 1));
        assert_eq!(of(&[address(9), address(10)], &[1, 2, 3]), (0, 1 << 1));
    }

    #[test]
    fn many_high_halves_use_the_large_layout() {
        let boundaries: Vec<u128> = (1..=32).map(|high| high << 64).collect();

        assert!(WideFew::of(&boundaries[..31], &[1; 32]).is_some());
        assert!(WideFew::of(&boundaries, &[1; 33]).is_none());
    }
}
