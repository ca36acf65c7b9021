//! Sequence numbers of one stream: order, duplicates, and the number of frames that have not arrived.

/// Numbers below the highest one that are remembered.
const WINDOW: u64 = 4_096;
const WORDS: usize = (WINDOW / 64) as usize;

/// Order of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The highest number so far.
    Ascending,
    /// A lower number, received for the first time or too old to tell.
    Late,
    /// A number that was received before.
    Duplicate,
}

/// Received numbers of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    /// One more than the highest received number.
    end: u64,
    /// Bit set by number modulo [`WINDOW`].
    received: [u64; WORDS],
}

impl Default for Sequence {
    fn default() -> Self {
        Self {
            end: 0,
            received: [0; WORDS],
        }
    }
}

impl Sequence {
    /// One more than the highest received number.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Records a number of 32 bits, which is extended by the highest number.
    #[inline]
    pub(crate) fn receive(&mut self, number: u32) -> Order {
        let number = self.extend(number);
        if number >= self.end {
            let skipped = (number - self.end).min(WINDOW);
            for lost in number - skipped..number {
                self.clear(lost);
            }
            self.end = number + 1;
            self.set(number);
            return Order::Ascending;
        }
        if self.end - number > WINDOW {
            return Order::Late;
        }
        match self.set(number) {
            true => Order::Duplicate,
            false => Order::Late,
        }
    }

    /// The number closest to the highest one whose low 32 bits are `number`.
    fn extend(&self, number: u32) -> u64 {
        let ahead = number.wrapping_sub(self.end as u32) as i32;
        self.end
            .checked_add_signed(i64::from(ahead))
            .unwrap_or(u64::from(number))
    }

    /// Sets the bit of a number; true if it was set.
    fn set(&mut self, number: u64) -> bool {
        let (word, bit) = (number % WINDOW / 64, 1 << (number % 64));
        let word = &mut self.received[word as usize];
        let was = *word & bit != 0;
        *word |= bit;
        was
    }

    fn clear(&mut self, number: u64) {
        self.received[(number % WINDOW / 64) as usize] &= !(1 << (number % 64));
    }
}
