//! Order-preserving compression of 64-bit numbers to 32 bits, relative to some boundaries.

/// Compresses 64-bit numbers to 32 bits, so that a search among some boundaries costs half: the boundaries
/// lie in two windows, within each of which distances fit into 31 bits.
///
/// ```text
/// below all boundaries   0
/// first window           1 + distance from the first boundary, shifted; saturated
/// second window          likewise, with the highest bit set
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Squeeze {
    /// First boundary of each window; a number belongs to the last window that begins at or before it.
    pub(super) begins: [u64; 2],
    /// Right shift of distances per window, below 64.
    pub(super) shifts: [u64; 2],
}

/// The greatest distance.
pub(super) const DISTANCE_MAX: u32 = (1 << 31) - 3;
/// The bit of the second window.
pub(super) const SECOND_WINDOW: u32 = 1 << 31;

impl Squeeze {
    /// Creates a compression that distinguishes the sorted distinct `boundaries`; `None` if they do not fit.
    pub fn of(boundaries: &[u64]) -> Option<Self> {
        let gap = |at: &usize| boundaries[*at] - boundaries[*at - 1];
        // The longest gap separates the windows.
        let second = (1..boundaries.len()).max_by_key(gap);
        let (first, second) = boundaries.split_at(second.unwrap_or(boundaries.len()));
        let (begin, shift) = window(first)?;
        let (second_begin, second_shift) = match second {
            [] => (u64::MAX, 0),
            some => window(some)?,
        };
        Some(Self {
            begins: [begin, second_begin],
            shifts: [shift, second_shift],
        })
    }

    /// Returns the compressed number.
    #[inline]
    pub fn number(&self, long: u64) -> u32 {
        let second = long >= self.begins[1];
        let window = usize::from(second);
        let Some(distance) = long.checked_sub(self.begins[window]) else {
            return 0;
        };
        let distance = (distance >> self.shifts[window]).min(DISTANCE_MAX.into()) as u32;
        (1 + distance) | if second { SECOND_WINDOW } else { 0 }
    }
}

/// Returns the beginning of a window of boundaries, and the largest shift that loses no bit of their
/// distances.
fn window(boundaries: &[u64]) -> Option<(u64, u64)> {
    let (begin, rest) = boundaries.split_first()?;
    let bits = rest.iter().fold(0, |bits, one| bits | (one - begin));
    let shift = match bits {
        0 => 0,
        bits => bits.trailing_zeros().into(),
    };
    let far = rest.last().map_or(0, |last| (last - begin) >> shift);
    (far <= DISTANCE_MAX.into()).then_some((*begin, shift))
}
