//! Long numbers as short ones that keep their order among some boundaries.

/// Makes 32 bits of 64, so that numbers are searched among some boundaries at half the cost: they lie in two windows,
/// in each of which their differences come to 31 bits.
///
/// ```text
///   below all      0
///   first window   1 + its distance from the first boundary, shifted; no more than what fits
///   second         the same, and the highest bit
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Squeeze {
    /// The first boundary of each window; a number is in the last one that begins at or before it.
    pub(super) begins: [u64; 2],
    /// By how many bits distances are shifted: below 64.
    pub(super) shifts: [u64; 2],
}

/// The greatest distance.
pub(super) const FAR: u32 = (1 << 31) - 3;
/// The bit of the second window.
pub(super) const SECOND: u32 = 1 << 31;

impl Squeeze {
    /// One that keeps these apart, which are in order, each once. None where they do not fit.
    pub fn of(boundaries: &[u64]) -> Option<Self> {
        let gap = |at: &usize| boundaries[*at] - boundaries[*at - 1];
        // The longest gap is between the windows.
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

    /// The short number.
    #[inline]
    pub fn number(&self, long: u64) -> u32 {
        let second = long >= self.begins[1];
        let window = usize::from(second);
        let Some(distance) = long.checked_sub(self.begins[window]) else {
            return 0;
        };
        let distance = (distance >> self.shifts[window]).min(FAR.into()) as u32;
        (1 + distance) | if second { SECOND } else { 0 }
    }
}

/// Where the window of some boundaries begins, and the shift that no bit of their distances is lost by.
fn window(boundaries: &[u64]) -> Option<(u64, u64)> {
    let (begin, rest) = boundaries.split_first()?;
    let bits = rest.iter().fold(0, |bits, one| bits | (one - begin));
    let shift = match bits {
        0 => 0,
        bits => bits.trailing_zeros().into(),
    };
    let far = rest.last().map_or(0, |last| (last - begin) >> shift);
    (far <= FAR.into()).then_some((*begin, shift))
}
