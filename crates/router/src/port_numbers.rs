//! Port numbers of the workers: 16 bits, reused.
//!
//! A port that returns soon gets its old number. The number of a port that stays away is reused after more than
//! [`RESTING`] further releases: by then no frame refers to it.

use std::collections::{BTreeMap, VecDeque};

use crate::intent::Name;

/// Released numbers that are held back: beyond this count, the number that was released first is reused.
const RESTING: usize = 64;

/// Numbers of present ports, and of recently released ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortNumbers {
    by_name: BTreeMap<Name, u16>,
    /// Released ports, with the sequence number of the release.
    released: BTreeMap<Name, u64>,
    /// Released ports, oldest first. Entries of ports that came back are removed later.
    resting: VecDeque<(Name, u64)>,
    sequence: u64,
    /// The lowest number that was never used.
    next: u16,
}

impl PortNumbers {
    /// Returns the number of a port; `None` if all are in use.
    pub(crate) fn take(&mut self, name: &Name) -> Option<u16> {
        self.released.remove(name);
        if let Some(number) = self.by_name.get(name) {
            return Some(*number);
        }
        let number = self.rested().or_else(|| self.fresh())?;
        self.by_name.insert(Name::clone(name), number);
        Some(number)
    }

    /// Releases the number of a port, after the workers have been told.
    pub(crate) fn release(&mut self, name: &str) {
        let Some((name, _)) = self.by_name.get_key_value(name) else {
            return;
        };
        self.sequence += 1;
        self.released.insert(Name::clone(name), self.sequence);
        self.resting.push_back((Name::clone(name), self.sequence));
        if self.resting.len() > 2 * (self.released.len() + RESTING) {
            let released = &self.released;
            self.resting
                .retain(|(name, at)| released.get(name) == Some(at));
        }
    }

    /// Returns the number that was released first, if enough numbers were released since.
    fn rested(&mut self) -> Option<u16> {
        while self.released.len() > RESTING {
            let (name, at) = self.resting.pop_front()?;
            if self.released.get(&name) == Some(&at) {
                self.released.remove(&name);
                return self.by_name.remove(&name);
            }
        }
        None
    }

    /// Returns a number that was never used. The highest number stands for no port in the interface table.
    fn fresh(&mut self) -> Option<u16> {
        let number = (self.next < u16::MAX).then_some(self.next)?;
        self.next += 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name(number: usize) -> Name {
        format!("port{number}").into()
    }

    #[test]
    fn a_million_short_lived_ports_need_few_numbers() {
        let mut numbers = PortNumbers::default();
        for first in (0..1_000_000).step_by(100) {
            let batch: Vec<_> = (first..first + 100).map(name).collect();
            let given: BTreeSet<_> = batch.iter().map(|port| numbers.take(port)).collect();
            assert!(given.len() == 100 && !given.contains(&None), "{first}");
            batch.iter().for_each(|port| numbers.release(port));
        }
        assert!(numbers.next <= 100 + RESTING as u16, "{}", numbers.next);
        assert!(numbers.by_name.len() <= 100 + RESTING);
        assert!(numbers.resting.len() <= 100 + RESTING);
    }

    #[test]
    fn a_port_gets_its_recently_released_number_again() {
        let mut numbers = PortNumbers::default();
        let first = numbers.take(&name(0));
        for _ in 0..1_000 {
            numbers.release("port0");
            assert_eq!(numbers.take(&name(0)), first);
        }
        assert!(numbers.resting.len() <= 2 * (1 + RESTING));

        numbers.release("port0");
        for other in 1..=RESTING {
            assert_ne!(numbers.take(&name(other)), first);
            numbers.release(&name(other));
        }
        assert_eq!(numbers.take(&name(1_000)), first);
    }

    #[test]
    fn no_number_is_left_after_the_last_one() {
        let mut numbers = PortNumbers::default();
        let given = (0..65_535).map(|number| numbers.take(&name(number)));
        assert!(given.into_iter().all(|number| number.is_some()));
        assert_eq!(numbers.take(&name(65_535)), None);
    }
}
