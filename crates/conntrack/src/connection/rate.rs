//! Byte rate of a direction, measured over whole seconds.
//!
//! The first packet of a new second updates the measurement, so that other packets cost nothing. The bytes of
//! the last whole second are stored in 16 bits: exact up to 2,047, above that with 11 significant bits.

use super::settings::Tick;

/// Rate measurement of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    /// The byte counter at the start of the last packet's second.
    sample: u32,
    /// Bytes of the second before that, in the 16-bit form of `shorten`.
    before: u16,
}

const MANTISSA_BITS: u32 = 11;

impl Rate {
    /// Decodes the rate from a word.
    #[inline]
    pub(super) const fn of_word(word: u64) -> Self {
        Self {
            sample: word as u32,
            before: (word >> 32) as u16,
        }
    }

    /// Encodes the rate in a word; `rest` are 16 bits of another owner.
    #[inline]
    pub(super) const fn to_word(self, rest: u16) -> u64 {
        self.sample as u64 | (self.before as u64) << 32 | (rest as u64) << 48
    }

    /// Returns the bits of the last whole second, given the byte counter and the time of the last packet.
    pub(super) fn bps(self, bytes: u64, last: Tick, now: Tick) -> u64 {
        let bytes = match seconds_between(last, now) {
            0 => lengthen(self.before),
            1 => (bytes as u32).wrapping_sub(self.sample),
            _ => 0,
        };
        u64::from(bytes) * 8
    }

    /// Returns the bytes of the last whole second or of the current second, whichever is more.
    pub(super) fn lately(self, bytes: u64) -> u64 {
        let running = (bytes as u32).wrapping_sub(self.sample);
        u64::from(running.max(lengthen(self.before)))
    }

    /// Returns the rate after the first packet of a new second arrived, before it is counted.
    pub(super) fn turn(self, bytes: u64, last: Tick, now: Tick) -> Self {
        let before = match seconds_between(last, now) {
            1 => (bytes as u32).wrapping_sub(self.sample),
            _ => 0,
        };
        Self {
            before: shorten(before),
            sample: bytes as u32,
        }
    }
}

/// Encodes a number as its highest 11 bits, rounded, and the number of bits below them.
const fn shorten(number: u32) -> u16 {
    let shift = (u32::BITS - number.leading_zeros()).saturating_sub(MANTISSA_BITS);
    let rounded = (number as u64 + ((1 << shift) >> 1)) >> shift;
    // Rounding up may have added a bit.
    let (mantissa, shift) = match rounded >> MANTISSA_BITS {
        0 => (rounded, shift),
        _ => (rounded >> 1, shift + 1),
    };
    mantissa as u16 | (shift as u16) << MANTISSA_BITS
}

const fn lengthen(short: u16) -> u32 {
    let mantissa = (short as u64) & ((1 << MANTISSA_BITS) - 1);
    let number = mantissa << (short >> MANTISSA_BITS);
    if number > u32::MAX as u64 {
        u32::MAX
    } else {
        number as u32
    }
}

/// Returns how many second boundaries lie between two ticks; the second counter wraps with the ticks.
const fn seconds_between(last: Tick, now: Tick) -> u32 {
    now.second().wrapping_sub(last.second()) % (1 << 26)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_compressed_number_is_off_by_less_than_one_in_two_thousand(number: u32) {
            let off = lengthen(shorten(number)).abs_diff(number);

            prop_assert!(u64::from(off) * 2_000 <= u64::from(number));
            prop_assert!(number > 2_047 || off == 0);
        }
    }

    #[test]
    fn updates_leave_the_other_fields_of_the_word_unchanged() {
        let rate = Rate {
            sample: 9,
            before: shorten(u32::MAX),
        };

        assert_eq!(Rate::of_word(rate.to_word(0xabcd)), rate);
        assert_eq!(rate.to_word(0xabcd) >> 48, 0xabcd);
        assert_eq!(lengthen(rate.before), u32::MAX);
    }
}
