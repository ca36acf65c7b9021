//! Fair queue of password checks that wait for one thread.
//!
//! Sources wait in rounds: the second attempt of a source comes after the first attempts of all others. Known
//! addresses and strangers take turns alternately.

use std::collections::BTreeMap;

use crate::login::Source;

/// Maximum number of waiting attempts, for known addresses and for strangers each.
const WAITING: usize = 512;

/// Fair queue.
#[derive(Debug)]
pub struct Turns<T> {
    known: Line<T>,
    strangers: Line<T>,
    /// True if the next turn is a stranger's.
    strangers_next: bool,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            known: Line::default(),
            strangers: Line::default(),
            strangers_next: false,
        }
    }
}

impl<T> Turns<T> {
    /// Adds an attempt. If the queue is full, removes and returns an attempt of the source with the most waiting
    /// attempts.
    pub fn push(&mut self, source: &Source, who: T) -> Option<T> {
        match source {
            Source::Known(..) => self.known.push(source, who),
            Source::Stranger(_) => self.strangers.push(source, who),
        }
    }

    /// Removes and returns the next attempt.
    pub fn pop(&mut self) -> Option<T> {
        self.strangers_next = !self.strangers_next;
        let (first, second) = match self.strangers_next {
            true => (&mut self.known, &mut self.strangers),
            false => (&mut self.strangers, &mut self.known),
        };
        first.pop().or_else(|| second.pop())
    }
}

/// Queue of one kind, by round and arrival.
#[derive(Debug)]
struct Line<T> {
    waiting: BTreeMap<(u64, u64), (Source, T)>,
    /// Last round of each source.
    last: BTreeMap<Source, u64>,
    round: u64,
    arrivals: u64,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last: BTreeMap::new(),
            round: 0,
            arrivals: 0,
        }
    }
}

impl<T> Line<T> {
    fn push(&mut self, source: &Source, who: T) -> Option<T> {
        let round = match self.last.get(source) {
            Some(last) => self.round.max(last + 1),
            None => self.round,
        };
        self.last.insert(source.clone(), round);
        self.waiting
            .insert((round, self.arrivals), (source.clone(), who));
        self.arrivals += 1;
        if self.waiting.len() <= WAITING {
            return None;
        }
        let ((round, _), (source, who)) = self.waiting.pop_last()?;
        // The source has one attempt less in the queue.
        match round.checked_sub(1).filter(|before| *before >= self.round) {
            Some(before) => self.last.insert(source, before),
            None => self.last.remove(&source),
        };
        Some(who)
    }

    fn pop(&mut self) -> Option<T> {
        let ((round, _), (source, who)) = self.waiting.pop_first()?;
        if round > self.round {
            self.round = round;
            // Sources served in an earlier round count as new.
            self.last.retain(|_, last| *last >= round);
        }
        if self.waiting.is_empty() {
            self.last.clear();
        } else {
            self.last.entry(source).or_insert(round);
        }
        Some(who)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use menu::Id;

    use super::*;

    fn address(number: u16) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(127, 1, high, low))
    }

    fn all(turns: &mut Turns<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| turns.pop()).collect()
    }

    #[test]
    fn a_new_address_waits_for_one_attempt_of_each_other() {
        let mut turns = Turns::default();
        for _ in 0..8 {
            for attacker in 1..=2 {
                turns.push(&Source::Stranger(address(attacker)), "attacker");
            }
        }
        assert_eq!(turns.pop(), Some("attacker"));

        turns.push(&Source::Stranger(address(9)), "owner");

        let order = all(&mut turns);
        assert_eq!(order.iter().position(|who| *who == "owner"), Some(1));
        assert_eq!(order.len(), 16);
    }

    #[test]
    fn known_and_unknown_addresses_alternate() {
        let mut turns = Turns::default();
        for number in 0..4 {
            turns.push(&Source::Stranger(address(number)), "stranger");
        }
        for _ in 0..2 {
            turns.push(&Source::Known(Id(1), address(77)), "known");
        }

        let order = all(&mut turns);

        let expected = [
            "known", "stranger", "known", "stranger", "stranger", "stranger",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_address_with_most_pending_attempts_is_refused_first() {
        let mut turns = Turns::default();
        for _ in 0..WAITING {
            assert_eq!(turns.push(&Source::Stranger(address(1)), "attacker"), None);
        }

        let out = turns.push(&Source::Stranger(address(2)), "owner");
        let own = turns.push(&Source::Stranger(address(1)), "newest");

        assert_eq!((out, own), (Some("attacker"), Some("newest")));
        assert!(all(&mut turns)[..2].contains(&"owner"));
        assert_eq!(
            (turns.strangers.waiting.len(), turns.strangers.last.len()),
            (0, 0)
        );
    }
}
