//! How many bytes a direction carries in a second, measured over whole seconds.
//!
//! It is turned by the first packet of another second, so that no other packet costs anything. The
//! last whole second is kept in 16 bits: exact up to 2,047 bytes, then to 11 bits.

use super::settings::Tick;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    /// The byte counter when the second of the last packet began.
    sample: u32,
    /// Bytes of the second before that, shortened.
    before: u16,
}

const MANTISSA_BITS: u32 = 11;

impl Rate {
    /// The rate that a word keeps.
    #[inline]
    pub(super) const fn of_word(word: u64) -> Self {
        Self {
            sample: word as u32,
            before: (word >> 32) as u16,
        }
    }

    /// The word that keeps it, with 16 bits of somebody else's.
    #[inline]
    pub(super) const fn to_word(self, rest: u16) -> u64 {
        self.sample as u64 | (self.before as u64) << 32 | (rest as u64) << 48
    }

    /// Bits of the last whole second, given the byte counter and when it last moved.
    pub(super) fn bps(self, bytes: u64, last: Tick, now: Tick) -> u64 {
        let bytes = match seconds_between(last, now) {
            0 => lengthen(self.before),
            1 => (bytes as u32).wrapping_sub(self.sample),
            _ => 0,
        };
        u64::from(bytes) * 8
    }

    /// Bytes of a second, the one before or the running one, whichever has more.
    pub(super) fn lately(self, bytes: u64) -> u64 {
        let running = (bytes as u32).wrapping_sub(self.sample);
        u64::from(running.max(lengthen(self.before)))
    }

    /// The rate when the first packet of another second comes, before it is counted.
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

/// A number's highest 11 bits, rounded, and how many follow.
const fn shorten(number: u32) -> u16 {
    let shift = (u32::BITS - number.leading_zeros()).saturating_sub(MANTISSA_BITS);
    let rounded = (number as u64 + ((1 << shift) >> 1)) >> shift;
    // Rounding up may have made it a bit longer.
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

/// How many seconds' beginnings lie between two ticks; the counter of seconds comes round with the
/// ticks.
const fn seconds_between(last: Tick, now: Tick) -> u32 {
    now.second().wrapping_sub(last.second()) % (1 << 26)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shortened_number_is_off_by_less_than_one_in_two_thousand(number: u32) {
            let off = lengthen(shorten(number)).abs_diff(number);

            prop_assert!(u64::from(off) * 2_000 <= u64::from(number));
            prop_assert!(number > 2_047 || off == 0);
        }
    }

    #[test]
    fn what_shares_its_word_stays() {
        let rate = Rate {
            sample: 9,
            before: shorten(u32::MAX),
        };

        assert_eq!(Rate::of_word(rate.to_word(0xabcd)), rate);
        assert_eq!(rate.to_word(0xabcd) >> 48, 0xabcd);
        assert_eq!(lengthen(rate.before), u32::MAX);
    }
}
