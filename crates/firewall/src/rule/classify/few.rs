//! A few spans of IPv6 addresses and their rows of one word, looked up for 16 packets at once without a table in
//! memory.

use kernels::{Lanes, Squeeze};

/// How many boundaries there are at most.
const BOUNDARIES: usize = 31;

/// Addresses are searched by their higher halves; lower ones are compared only where a rule names more than that.
#[derive(Debug)]
pub(super) struct WideFew {
    /// Where spans of higher halves begin; behind the last of them numbers that say nothing.
    highs: [u64; BOUNDARIES + 1],
    /// The same, squeezed, where that can be.
    squeezed: Option<(Squeeze, [u32; BOUNDARIES + 1])>,
    /// What the spans have; behind the last the same as that.
    spans: Spans,
    /// From which lower halves on which row holds.
    lows: Box<[(u64, u64)]>,
}

/// What spans of higher halves have.
#[derive(Debug, Default)]
struct Spans {
    /// The rows; all rules where `lows` has them.
    rows: [u64; BOUNDARIES + 1],
    /// A bit for each that has another row for one lower half: for which, and the row; elsewhere the same row
    /// for any.
    exact: u32,
    exact_lows: [u64; BOUNDARIES + 1],
    exact_rows: [u64; BOUNDARIES + 1],
    /// A bit for each whose rows lie in `lows`: where they begin and end. The first is that from 0 on.
    deep: u32,
    lows: [(u32, u32); BOUNDARIES + 1],
}

impl Spans {
    /// Of so many as there can be.
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

/// What a span of higher halves has.
enum Span {
    /// One row.
    Row(u64),
    /// One row, and another one for a single lower half.
    Exact { row: u64, low: u64, at_low: u64 },
    /// Rows by lower halves: where they begin and end.
    Deep((u32, u32)),
}

impl Span {
    /// A span with these rows from these lower halves on, the first from 0 on; none where they are many.
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
    /// `rows` has one more than `boundaries`, which are in order. None where those have many higher halves.
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
                // What begins with the half replaces what was before it.
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
            // The next half may be a boundary of its own; then this span is empty.
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

    /// Takes from 16 packets the rules that their addresses do not leave them.
    #[inline(always)]
    pub(super) fn narrow<L: Lanes>(&self, lanes: L, addresses: &[u128; 16], left: &mut [u64; 16]) {
        let spans = match &self.squeezed {
            Some(squeezed) if L::SQUEEZES => of_squeezed(lanes, squeezed, addresses),
            _ => lanes.few_ranks_u64(&self.highs, &lanes.highs(addresses)),
        };
        self.narrow_in(lanes, &spans, addresses, left);
    }

    /// The same; their higher halves lie in these spans.
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

    /// Changes the rows of those that have the one lower half for which there is another; `exact` has a bit
    /// for each that may.
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

    /// The row of a lower half, in a span of higher ones that has some.
    #[inline(always)]
    fn of_low(&self, span: u32, low: u64) -> u64 {
        let (from, to) = self.spans.lows[span as usize % (BOUNDARIES + 1)];
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
    lanes.few_ranks(numbers, &lanes.squeeze(addresses, squeeze))
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
            // Spans beside each other may have the same.
            kinds in proptest::collection::vec(0_u32..3, 15),
        ) {
            // Halves that follow each other, and the greatest, behind which there is none.
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
            if let Some(squeezed) = &few.squeezed {
                let mut same = [u64::MAX; 16];
                let spans = of_squeezed(Baseline, squeezed, &addresses);
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
    fn one_lower_half_needs_no_list() {
        let address = |low: u64| u128::from(7_u64) << 64 | u128::from(low);
        let of = |boundaries: &[u128], rows: &[u64]| {
            let few = WideFew::of(boundaries, rows).expect("few higher halves");
            (few.spans.exact, few.spans.deep)
        };

        assert_eq!(of(&[address(9), address(10)], &[1, 2, 1]), (1 << 1, 0));
        assert_eq!(of(&[address(0), address(1)], &[1, 2, 1]), (1 << 1, 0));
        assert_eq!(of(&[address(u64::MAX), 8 << 64], &[1, 2, 1]), (1 << 1, 0));
        assert_eq!(of(&[address(0), 8 << 64], &[1, 2, 1]), (0, 0));
        // More than one, and what is beside it differs.
        assert_eq!(of(&[address(9), address(11)], &[1, 2, 1]), (0, 1 << 1));
        assert_eq!(of(&[address(9), address(10)], &[1, 2, 3]), (0, 1 << 1));
    }

    #[test]
    fn many_higher_halves_are_not_few() {
        let boundaries: Vec<u128> = (1..=32).map(|high| high << 64).collect();

        assert!(WideFew::of(&boundaries[..31], &[1; 32]).is_some());
        assert!(WideFew::of(&boundaries, &[1; 33]).is_none());
    }
}
