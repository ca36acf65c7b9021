//! Sets of ports, and the schedule of their machines.

/// A set of ports, by their places in the list of ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PortSet(Vec<u64>);

/// Bits per word.
const WORD: usize = u64::BITS as usize;

impl PortSet {
    pub(super) fn insert(&mut self, place: usize) {
        let word = place / WORD;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % WORD);
    }

    pub(super) fn remove(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / WORD) {
            *word &= !(1 << (place % WORD));
        }
    }

    pub(super) fn set(&mut self, place: usize, is_in: bool) {
        match is_in {
            true => self.insert(place),
            false => self.remove(place),
        }
    }

    /// Returns the first place of the set from this place on.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let mut mask = u64::MAX << (from % WORD);
        for (at, word) in self.0.iter().enumerate().skip(from / WORD) {
            let word = word & mask;
            if word != 0 {
                return Some(at * WORD + word.trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        core::iter::successors(self.next(0), |place| self.next(place + 1))
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// Shifts places for a port that was inserted into the list, and is not in the set.
    pub(super) fn port_inserted(&mut self, place: usize) {
        self.renumber(|at| Some(at + usize::from(at >= place)));
    }

    /// Shifts places for a port that was removed from the list.
    pub(super) fn port_removed(&mut self, place: usize) {
        self.renumber(|at| (at != place).then(|| at - usize::from(at > place)));
    }

    fn renumber(&mut self, number: impl Fn(usize) -> Option<usize>) {
        let mut shifted = Self::default();
        self.iter()
            .filter_map(number)
            .for_each(|at| shifted.insert(at));
        *self = shifted;
    }
}

/// Which ports' machines run: an event schedules the ports whose inputs it changes, for the round at hand and the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    /// Ports of the present round.
    pub(super) now: PortSet,
    /// Ports of the next round.
    next: PortSet,
    /// Ports that ran since states were last reported.
    unreported: PortSet,
}

impl Schedule {
    pub(super) fn add(&mut self, place: usize) {
        self.now.insert(place);
        self.next.insert(place);
    }

    /// Begins a round.
    pub(super) fn advance(&mut self) {
        self.now = core::mem::take(&mut self.next);
        self.unreported.add_all(&self.now);
    }

    /// Returns the ports whose states may have changed since the last call.
    pub(super) fn take_unreported(&mut self) -> PortSet {
        self.unreported.add_all(&self.now);
        core::mem::take(&mut self.unreported)
    }

    pub(super) fn port_inserted(&mut self, place: usize) {
        for places in [&mut self.now, &mut self.next, &mut self.unreported] {
            places.port_inserted(place);
        }
    }

    pub(super) fn port_removed(&mut self, place: usize) {
        for places in [&mut self.now, &mut self.next, &mut self.unreported] {
            places.port_removed(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &[usize]) -> PortSet {
        let mut set = PortSet::default();
        places.iter().for_each(|place| set.insert(*place));
        set
    }

    fn all(set: &PortSet) -> Vec<usize> {
        set.iter().collect()
    }

    #[test]
    fn places_come_in_order_and_shift_with_the_list() {
        let mut set = of(&[200, 0, 63, 64]);
        assert_eq!(all(&set), [0, 63, 64, 200]);
        assert_eq!(
            (set.next(64), set.next(65), set.next(201)),
            (Some(64), Some(200), None)
        );
        set.port_inserted(63);
        assert_eq!(all(&set), [0, 64, 65, 201]);
        set.port_removed(65);
        assert_eq!(all(&set), [0, 64, 200]);
        set.remove(64);
        set.set(1, true);
        assert_eq!(all(&set), [0, 1, 200]);
        assert_eq!(all(&PortSet::default()), []);
    }

    #[test]
    fn a_port_runs_in_this_round_and_the_next() {
        let mut schedule = Schedule::default();
        schedule.add(3);
        assert_eq!(all(&schedule.now), [3]);
        schedule.advance();
        assert_eq!(all(&schedule.now), [3]);
        schedule.add(5);
        schedule.advance();
        assert_eq!(all(&schedule.now), [5]);
        schedule.advance();
        assert_eq!(all(&schedule.now), []);
        assert_eq!(all(&schedule.take_unreported()), [3, 5]);
        assert_eq!(all(&schedule.take_unreported()), []);
    }
}
