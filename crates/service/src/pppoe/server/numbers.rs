//! Session numbers of a port: 1 to 65,534 (RFC 2516, 4 reserves 0 and 65,535).
//!
//! A number rests as long as possible before it is assigned again, so that late packets of an ended session do not meet
//! another. The first number is random: after a restart, few sessions get the number of one that their client still
//! has.

use std::collections::VecDeque;

use machine::Rng;

/// Number of session numbers.
const NUMBERS: u16 = 0xfffe;

/// Free session numbers.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The first number assigned.
    first: u16,
    /// How many numbers were assigned for the first time.
    assigned: u16,
    /// Released numbers, the longest released first.
    released: VecDeque<u16>,
}

impl Numbers {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            first: rng.below(u64::from(NUMBERS)) as u16,
            assigned: 0,
            released: VecDeque::new(),
        }
    }

    /// True if all numbers are assigned.
    pub(super) fn is_empty(&self) -> bool {
        self.assigned == NUMBERS && self.released.is_empty()
    }

    /// Returns a free number; `None` if all are assigned.
    pub(super) fn assign(&mut self) -> Option<u16> {
        if self.assigned == NUMBERS {
            return self.released.pop_front();
        }
        let at = (u32::from(self.first) + u32::from(self.assigned)) % u32::from(NUMBERS);
        self.assigned += 1;
        Some(at as u16 + 1)
    }

    /// Takes back a number that was assigned.
    pub(super) fn release(&mut self, number: u16) {
        self.released.push_back(number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_number_rests_until_all_others_were_assigned() {
        let mut numbers = Numbers::new(&mut Rng::seeded(8));
        let first = numbers.assign().expect("all are free");
        numbers.release(first);
        let all: Vec<_> = core::iter::from_fn(|| numbers.assign()).collect();
        assert_eq!(all.len(), usize::from(NUMBERS));
        assert_eq!(all.last(), Some(&first));
        assert!(numbers.is_empty());
        let distinct: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(!distinct.contains(&0) && !distinct.contains(&0xffff));

        for number in [7, 5] {
            numbers.release(number);
        }
        assert_eq!([(); 3].map(|()| numbers.assign()), [Some(7), Some(5), None]);
    }
}
