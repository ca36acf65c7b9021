//! Numbers of rules, by which workers count: one space for all tables.
//!
//! A number is a rule's for as long as the item is. It is used again only when many others were,
//! so that no worker counts for a rule that is gone; what was counted under it then is the base of
//! the new rule's counters.

use std::collections::{BTreeMap, VecDeque};

use dataplane::counters::Traffic;
use dataplane::rule::{NOBODY, RuleCounters};
use machine::Instant;

/// How many numbers rest before one is used again.
const REST: usize = 4096;
/// Numbers that can be counted under.
const MOST: u32 = 1 << 20;

/// What a rule has counted over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Packets and their bytes.
    pub traffic: Traffic,
    /// When it last matched.
    pub last: Option<Instant>,
}

/// The numbers of all rules.
#[derive(Debug, Default)]
pub struct Numbers {
    /// How many were given for the first time.
    next: u32,
    free: VecDeque<u32>,
    /// What was counted when the number was given, or when the counters were reset.
    base: BTreeMap<u32, Traffic>,
}

impl Numbers {
    /// A number for a new rule, with room for it in all counters; none if all are in use.
    pub fn give<'a>(&mut self, all: impl Iterator<Item = &'a RuleCounters> + Clone) -> Option<u32> {
        let number = if self.free.len() > REST || NOBODY + self.next + 1 >= MOST {
            self.free.pop_front()?
        } else {
            self.next += 1;
            NOBODY + self.next
        };
        for counters in all.clone() {
            // What is beyond the limit counts nothing.
            let _ = counters.make_room(number);
        }
        self.reset(number, all);
        Some(number)
    }

    /// The rule of this number is gone.
    pub fn take_back(&mut self, number: u32) {
        self.base.remove(&number);
        if number < MOST {
            self.free.push_back(number);
        }
    }

    /// Counts from here on.
    pub fn reset<'a>(&mut self, number: u32, all: impl Iterator<Item = &'a RuleCounters>) {
        self.base.insert(number, sum(number, all).traffic);
    }

    /// What a rule has counted since then.
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
