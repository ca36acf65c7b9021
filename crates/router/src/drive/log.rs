//! The log: the last entries in memory, and a place where the binary takes the new ones from.

use std::borrow::Cow;
use std::collections::VecDeque;

use menu::Clock;

/// How many entries are kept (RouterOS: `memory-lines`).
const ENTRIES: usize = 1000;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number; they count from 1.
    pub number: u64,
    /// When it was made.
    pub at: Clock,
    /// What it is about, separated by commas, as RouterOS names its topics.
    pub topics: Cow<'static, str>,
    /// What happened.
    pub message: String,
}

/// The log.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    last: u64,
    taken: u64,
    /// The time of day of what is written.
    pub clock: Clock,
}

impl Log {
    /// Adds an entry.
    pub fn add(&mut self, topics: impl Into<Cow<'static, str>>, message: impl Into<String>) {
        if self.entries.len() == ENTRIES {
            self.entries.pop_front();
        }
        self.last += 1;
        self.entries.push_back(Entry {
            number: self.last,
            at: self.clock,
            topics: topics.into(),
            message: message.into(),
        });
    }

    /// Adds several entries.
    pub fn add_all(&mut self, lines: Vec<(&'static str, String)>) {
        for (topics, message) in lines {
            self.add(topics, message);
        }
    }

    /// All entries that are kept, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The entries that were made since this was last asked.
    pub fn take_new(&mut self) -> Vec<Entry> {
        let taken = core::mem::replace(&mut self.taken, self.last);
        let new = self.entries.iter().filter(|entry| entry.number > taken);
        new.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_last_entries_and_gives_new_ones_once() {
        let mut log = Log::default();
        (0..ENTRIES + 5).for_each(|n| log.add("system,info", format!("entry {n}")));

        assert_eq!(log.entries().count(), ENTRIES);
        assert_eq!(log.take_new().len(), ENTRIES);
        log.add("system,error", "one more");
        let new = log.take_new();
        assert_eq!((new.len(), &*new[0].topics), (1, "system,error"));
    }
}
