//! Counter numbers of rules, shared by all tables.
//!
//! A rule keeps its number as long as its item exists. A number is reused only after many others, so that no worker
//! still counts for the removed rule; the counts so far become the base of the new rule's counters.

use std::collections::{BTreeMap, VecDeque};

use dataplane::counters::Traffic;
use dataplane::rule::{NOBODY, RuleCounters};
use machine::Instant;

/// Number of released numbers that are held back before reuse.
const REST: usize = 4096;
/// Maximum number of counters.
const MOST: u32 = 1 << 20;

/// Counters of a rule, summed over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Packets and their bytes.
    pub traffic: Traffic,
    /// Time of the last match.
    pub last: Option<Instant>,
}

/// Counter numbers of all rules.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The lowest number that was never used.
    next: u32,
    free: VecDeque<u32>,
    /// Counts at the time when the number was assigned or the counters were reset.
    base: BTreeMap<u32, Traffic>,
}

impl Numbers {
    /// Assigns a number to a new rule, and makes room in all counters; `None` if all numbers are in use.
    pub fn give<'a>(&mut self, all: impl Iterator<Item = &'a RuleCounters> + Clone) -> Option<u32> {
        let number = if self.free.len() > REST || NOBODY + self.next + 1 >= MOST {
            self.free.pop_front()?
        } else {
            self.next += 1;
            NOBODY + self.next
        };
        for counters in all.clone() {
            // Numbers beyond the limit are not counted.
            let _ = counters.make_room(number);
        }
        self.reset(number, all);
        Some(number)
    }

    /// Releases the number of a removed rule.
    pub fn take_back(&mut self, number: u32) {
        self.base.remove(&number);
        if number < MOST {
            self.free.push_back(number);
        }
    }

    /// Resets the counters of a rule.
    pub fn reset<'a>(&mut self, number: u32, all: impl Iterator<Item = &'a RuleCounters>) {
        self.base.insert(number, sum(number, all).traffic);
    }

    /// Returns the counters of a rule since then.
    pub fn hits<'a>(&self, number: u32, all: impl Iterator<Item = &'a RuleCounters>) -> Hits {
        let mut hits = sum(number, all);
        let base = self.base.get(&number).copied().unwrap_or_default();
        let traffic = &mut hits.traffic;
        traffic.packets = traffic.packets.saturating_sub(base.packets);
        traffic.bytes = traffic.bytes.saturating_sub(base.bytes);
        if traffic.packets == 0 {
            hits.last = None;
        }
        hits
    }
}

fn sum<'a>(number: u32, all: impl Iterator<Item = &'a RuleCounters>) -> Hits {
    let mut hits = Hits::default();
    for counters in all {
        let (traffic, last) = counters.get(number);
        hits.traffic += traffic;
        hits.last = hits.last.max(last);
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_used_again_begins_at_nothing() {
        let counters = RuleCounters::default();
        let all = || core::iter::once(&counters);
        let mut numbers = Numbers::default();
        let first = numbers.give(all()).expect("a number");
        counters.count(first, 60, Instant::from_secs(1));
        assert_eq!(numbers.hits(first, all()).traffic.packets, 1);

        numbers.take_back(first);
        let again = (0..=REST as u32 + 1).find(|_| {
            let given = numbers.give(all()).expect("a number");
            let is_it = given == first;
            if !is_it {
                numbers.take_back(given);
            }
            is_it
        });

        assert!(again.is_some_and(|after| after as usize >= REST));
        assert_eq!(numbers.hits(first, all()), Hits::default());
        counters.count(first, 60, Instant::from_secs(2));
        assert_eq!(numbers.hits(first, all()).traffic.bytes, 60);
    }
}
