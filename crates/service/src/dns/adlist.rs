//! Adlists (`/ip/dns/adlist`): sets of blocked names, stored as 8-byte hashes. The hash key is secret and random, so
//! that nobody can craft names that collide with blocked ones.

use core::hash::Hasher as _;
use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::sync::Arc;

use super::question::name_len;

/// Maximum number of names in all lists.
pub const NAMES_MAX: usize = 8 << 20;

/// Hash key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashKey(pub(super) u64, pub(super) u64);

impl HashKey {
    fn of(self, name: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher.write(name);
        hasher.write_u64(self.1);
        hasher.finish()
    }
}

/// Sorted hashes of the names of one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List(Arc<[u64]>);

impl List {
    /// Number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, hash: u64) -> bool {
        self.0.binary_search(&hash).is_ok()
    }
}

/// Parses a list line by line, in domain format or hosts format.
#[derive(Debug)]
pub struct Reader {
    key: HashKey,
    hashes: Vec<u64>,
    most: usize,
    /// The list exceeds the maximum number of names.
    pub full: bool,
}

impl Reader {
    /// Creates a reader for at most `most` names.
    pub fn new(key: HashKey, most: usize) -> Self {
        Self {
            key,
            hashes: Vec::new(),
            most: most.min(NAMES_MAX),
            full: false,
        }
    }

    /// Parses one line; lines without a valid name are skipped.
    pub fn line(&mut self, line: &str) {
        let line = line.split(['#', '!']).next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { return };
        let is_host = first.parse::<core::net::IpAddr>().is_ok();
        let names = if is_host { None } else { Some(first) };
        for name in names.into_iter().chain(words) {
            let name = name.trim_start_matches("||").trim_end_matches('^');
            if !name.contains('.') {
                // RouterOS and hosts files: `localhost` and similar names are not blocked.
                continue;
            }
            let Some(name) = wire::dns::Name::new(name) else {
                continue;
            };
            if self.hashes.len() >= self.most {
                // Removes duplicates.
                self.hashes.sort_unstable();
                self.hashes.dedup();
            }
            if self.hashes.len() >= self.most {
                self.full = true;
                return;
            }
            self.hashes.push(self.key.of(name.as_bytes()));
        }
    }

    /// Returns the list of all names read.
    pub fn finish(mut self) -> List {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        List(self.hashes.into())
    }
}

/// All adlists.
#[derive(Debug)]
pub(super) struct Adlists {
    pub(super) key: HashKey,
    lists: BTreeMap<u64, (List, u64)>,
}

impl Adlists {
    /// Creates an empty set of lists.
    pub(super) fn new(key: HashKey) -> Self {
        let lists = BTreeMap::new();
        Self { key, lists }
    }

    /// Adds, replaces or removes (`None`) a list.
    pub(super) fn put(&mut self, id: u64, list: Option<List>) {
        match list {
            Some(list) => {
                let count = self.lists.get(&id).map_or(0, |(_, count)| *count);
                self.lists.insert(id, (list, count));
            }
            None => drop(self.lists.remove(&id)),
        }
    }

    /// Number of names in a list, and number of queries it matched.
    pub(super) fn counts(&self, id: u64) -> Option<(usize, u64)> {
        self.lists
            .get(&id)
            .map(|(list, count)| (list.len(), *count))
    }

    /// True if a list contains the name; counts the match.
    pub(super) fn has(&mut self, name: &[u8]) -> bool {
        if self.lists.is_empty() || name_len(name).is_none() {
            return false;
        }
        let hash = self.key.of(name);
        let found = { self.lists.values_mut() }.find(|(list, _)| list.has(hash));
        found.map(|(_, count)| *count += 1).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_domains_include_their_subdomains() {
        let key = HashKey(1, 2);
        let mut reader = Reader::new(key, 10);
        let text = "# a list\n127.0.0.1 localhost\n0.0.0.0 Ads.Example tracker.example # two\n\
                    plain.example\n||block.example^\n! nothing\n\nnot..one\n";
        text.lines().for_each(|line| reader.line(line));
        let mut unwanted = Adlists::new(key);
        unwanted.put(1, Some(reader.finish()));

        let mut has = |name: &str| {
            let name = wire::dns::Name::new(name).expect("a name");
            unwanted.has(name.as_bytes())
        };
        for name in [
            "ads.example",
            "tracker.example",
            "plain.example",
            "block.example",
        ] {
            assert!(has(name), "{name}");
        }
        assert!(!has("x.ads.example") && !has("localhost"));
        assert_eq!(unwanted.counts(1), Some((4, 4)));
    }

    #[test]
    fn a_block_list_is_bounded() {
        let mut reader = Reader::new(HashKey(1, 2), 3);
        for number in [1, 1, 2, 2, 3, 3, 4] {
            reader.line(&format!("{number}.example"));
        }

        assert!(reader.full);
        assert_eq!(reader.finish().len(), 3);
    }
}
