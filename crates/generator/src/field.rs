//! Fields of a template whose value changes from frame to frame.

/// Values of a field, in the order in which frames get them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Counts through inclusive ranges, one value per frame, and begins again. Empty: the field stays as it is.
    Cycle(Vec<(u128, u128)>),
    /// Uniformly random values between the bounds, both inclusive.
    Random {
        /// Smallest value.
        first: u64,
        /// Largest value.
        last: u64,
    },
}

/// A bit field of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset of the first byte of the field's word.
    pub offset: usize,
    /// Bytes of the word, from 1 to 16.
    pub width: usize,
    /// Bits below the field in its word.
    pub shift: u32,
    /// Bits of the field.
    pub bits: u32,
    /// Its values.
    pub values: Values,
}

/// Position in the values of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    range: usize,
    step: u128,
}

impl Field {
    /// Mask of the field in its word.
    fn mask(&self) -> u128 {
        let ones = match self.bits {
            128.. => u128::MAX,
            bits => (1 << bits) - 1,
        };
        ones << self.shift
    }

    /// Returns the field's value in a frame.
    pub fn read(&self, frame: &[u8]) -> u128 {
        let word = frame.get(self.offset..self.offset + self.width);
        let word = word.map_or(0, word_of);
        (word & self.mask()) >> self.shift
    }

    /// Writes a value into a frame; the bits beside the field stay. A frame that is too short stays unchanged.
    pub fn write(&self, frame: &mut [u8], value: u128) {
        let Some(bytes) = frame.get_mut(self.offset..self.offset + self.width) else {
            return;
        };
        let mask = self.mask();
        // Whole words of the usual sizes, which need no mask.
        if self.bits as usize == 8 * self.width {
            match bytes.len() {
                2 => return bytes.copy_from_slice(&(value as u16).to_be_bytes()),
                4 => return bytes.copy_from_slice(&(value as u32).to_be_bytes()),
                _ => {}
            }
        }
        let word = (word_of(bytes) & !mask) | ((value << self.shift) & mask);
        bytes.copy_from_slice(&word.to_be_bytes()[16 - self.width..]);
    }

    /// Returns the next value, `None` if the field does not change; `random` is a fresh random number.
    pub(crate) fn next(&self, cursor: &mut Cursor, random: impl FnOnce() -> u64) -> Option<u128> {
        match &self.values {
            Values::Cycle(ranges) => {
                let (first, last) = *ranges.get(cursor.range)?;
                let value = first.saturating_add(cursor.step);
                if value >= last {
                    *cursor = Cursor {
                        range: (cursor.range + 1) % ranges.len(),
                        step: 0,
                    };
                } else {
                    cursor.step += 1;
                }
                Some(value)
            }
            Values::Random { first, last } => {
                let span = u128::from(last.saturating_sub(*first)) + 1;
                Some(u128::from(*first) + ((u128::from(random()) * span) >> 64))
            }
        }
    }
}

fn word_of(bytes: &[u8]) -> u128 {
    let bytes = bytes.iter();
    bytes.fold(0, |word, byte| (word << 8) | u128::from(*byte))
}
