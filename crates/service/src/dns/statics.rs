//! Static DNS entries (`/ip/dns/static`).
//!
//! ```text
//! regexps, in order ─▶ exact name ─▶ nearest parent name with match-subdomain
//!   one automaton        hash map         hash map, label by label
//! ```
//! RouterOS: if the entries of a name have another type than the query, the query is forwarded, but the answer is
//! never NXDOMAIN. Every static address also answers its PTR query.

use core::net::IpAddr;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use regex_automata::hybrid::dfa as lazy;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet, nfa::thompson};

use super::message::NO_NAME;
use super::question::{Key, text_of};
use super::stored::{Stored, put_record};

/// Memory limits of one pattern and of all patterns, in bytes.
const PATTERN_MAX: usize = 1 << 20;
const PATTERNS_MAX: usize = 64 << 20;
/// Memory limit for the states that the lazy automaton builds, in bytes.
const AUTOMATON: usize = 4 << 20;

pub(super) const A: u16 = 1;
pub(super) const NS: u16 = 2;
pub(super) const CNAME: u16 = 5;
pub(super) const PTR: u16 = 12;
pub(super) const MX: u16 = 15;
pub(super) const TXT: u16 = 16;
pub(super) const AAAA: u16 = 28;
pub(super) const SRV: u16 = 33;

/// Names that an entry applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// One name, in wire format and lower case.
    One(Box<[u8]>),
    /// A name and its subdomains.
    Below(Box<[u8]>),
    /// Names that match a regular expression, as text in lower case.
    Matching(Arc<str>),
}

/// Data of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Address record.
    Address(IpAddr),
    /// CNAME record.
    Alias(Box<[u8]>),
    /// Record of this type, as RDATA in wire format.
    Record(u16, Box<[u8]>),
    /// NXDOMAIN.
    NoName,
    /// Forward the query to this forwarder, or to the default servers. Such names are exempt from adlists.
    Forward(Option<Arc<str>>),
}

impl Data {
    /// NS record.
    pub fn name_server(name: &[u8]) -> Self {
        Self::Record(NS, name.into())
    }

    /// MX record with its preference (RFC 1035, 3.3.9).
    pub fn mail(preference: u16, name: &[u8]) -> Self {
        Self::Record(MX, [&preference.to_be_bytes(), name].concat().into())
    }

    /// SRV record: priority, weight and port, and the target host (RFC 2782).
    pub fn service(numbers: [u16; 3], host: &[u8]) -> Self {
        let numbers = numbers.map(u16::to_be_bytes).concat();
        Self::Record(SRV, [&numbers, host].concat().into())
    }

    /// TXT record, in strings of 255 bytes (RFC 1035, 3.3.14).
    pub fn text(text: &[u8]) -> Self {
        let mut data = Vec::with_capacity(text.len() + 1);
        for piece in text.chunks(255) {
            data.push(piece.len() as u8);
            data.extend_from_slice(piece);
        }
        if text.is_empty() {
            data.push(0);
        }
        Self::Record(TXT, data.into())
    }
}

/// Static entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Names that the entry applies to.
    pub names: Names,
    /// Data.
    pub data: Data,
    /// TTL in seconds.
    pub ttl: u32,
    /// Address list for the resolved addresses.
    pub list: Option<Arc<str>>,
}

/// Compiled entries of one name.
#[derive(Debug, Default)]
struct Set {
    entries: Vec<u64>,
    /// Answers by record type.
    answers: Vec<(u16, Stored)>,
    /// CNAME target and TTL.
    alias: Option<(Box<[u8]>, u32)>,
    no_name: Option<Stored>,
    forward: Option<Option<Arc<str>>>,
    list: Option<Arc<str>>,
}

/// Result of a lookup.
#[derive(Clone, Debug)]
pub(super) enum Lookup<'a> {
    /// An answer, and the address list for its addresses.
    Answer(&'a Stored, Option<&'a Arc<str>>),
    /// CNAME target, TTL and address list.
    Alias(&'a [u8], u32, Option<&'a Arc<str>>),
    /// Forward to this forwarder; address list.
    Forward(Option<&'a Arc<str>>, Option<&'a Arc<str>>),
    /// The name exists, but not with this type.
    OtherType,
    /// No entry matches.
    Nothing,
}

/// All static entries with their indexes.
#[derive(Debug, Default)]
pub(super) struct Statics {
    entries: BTreeMap<u64, Entry>,
    exact: HashMap<Box<[u8]>, Set>,
    below: HashMap<Box<[u8]>, Set>,
    /// Sets of address entries by the name of their PTR query.
    reverse: HashMap<Box<[u8]>, Set>,
    patterns: Patterns,
}

impl Statics {
    /// Adds, replaces or removes (`None`) an entry.
    ///
    /// # Errors
    /// Returns why a regular expression is invalid; such an entry matches nothing.
    pub(super) fn put(&mut self, id: u64, entry: Option<Entry>) -> Result<(), String> {
        if let Some(old) = self.entries.remove(&id) {
            self.file(id, &old, false);
        }
        let Some(entry) = entry else { return Ok(()) };
        if let Names::Matching(text) = &entry.names {
            check(text)?;
        }
        self.entries.insert(id, entry.clone());
        self.file(id, &entry, true);
        Ok(())
    }

    /// Sets the order of the entries with regular expressions.
    pub(super) fn set_order(&mut self, order: impl Iterator<Item = u64>) {
        self.patterns.order = order.filter(|id| self.entries.contains_key(id)).collect();
        self.patterns.automaton = None;
        self.patterns.stale = true;
    }

    /// Returns an entry.
    pub(super) fn entry(&self, id: u64) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// Iterates over all entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&u64, &Entry)> {
        self.entries.iter()
    }

    fn file(&mut self, id: u64, entry: &Entry, comes: bool) {
        let entries = &self.entries;
        match &entry.names {
            Names::One(name) => file(&mut self.exact, name, id, comes, entries),
            Names::Below(name) => {
                file(&mut self.exact, name, id, comes, entries);
                file(&mut self.below, name, id, comes, entries);
            }
            Names::Matching(_) => {
                self.patterns.automaton = None;
                self.patterns.stale = true;
                self.patterns.order.retain(|other| *other != id);
                if comes {
                    self.patterns.order.push(id);
                }
            }
        }
        let (Names::One(_) | Names::Below(_), Data::Address(address)) = (&entry.names, &entry.data)
        else {
            return;
        };
        let name = reverse_name(*address);
        let set = self.reverse.entry(name.clone()).or_default();
        set.entries.retain(|other| *other != id);
        if comes {
            set.entries.push(id);
        }
        let named = set.entries.iter().filter_map(|id| {
            let entry = entries.get(id)?;
            let (Names::One(name) | Names::Below(name)) = &entry.names else {
                return None;
            };
            Some((&**name, entry.ttl))
        });
        let records: Vec<_> = named.collect();
        set.answers = answer(PTR, &records).into_iter().collect();
        if set.entries.is_empty() {
            self.reverse.remove(&name);
        }
    }

    /// Looks up a query.
    pub(super) fn find(&mut self, key: &Key) -> Lookup<'_> {
        if self.entries.is_empty() {
            return Lookup::Nothing;
        }
        self.patterns.search(key, &self.entries);
        let of_patterns = { self.patterns.found.iter() }.map(|at| &self.patterns.sets[*at]);
        let name = key.name();
        let own = self.exact.get(name).or_else(|| {
            // Walks up the parent names, label by label.
            let above = || core::iter::successors(Some(name), |name| parent(name));
            let has_some = !self.below.is_empty();
            { above().filter(|_| has_some) }.find_map(|above| self.below.get(above))
        });
        let kind = key.kind();
        let reverse = (kind == PTR).then(|| self.reverse.get(name)).flatten();
        let mut is_known = false;
        for set in of_patterns.chain(own).chain(reverse) {
            is_known = true;
            match set.find(kind) {
                Lookup::OtherType | Lookup::Nothing => {}
                found => return found,
            }
        }
        if is_known {
            Lookup::OtherType
        } else {
            Lookup::Nothing
        }
    }
}

impl Set {
    fn find(&self, kind: u16) -> Lookup<'_> {
        let list = self.list.as_ref();
        if let Some(stored) = &self.no_name {
            return Lookup::Answer(stored, None);
        }
        if let Some((_, stored)) = self.answers.iter().find(|(own, _)| *own == kind) {
            return Lookup::Answer(stored, list);
        }
        if let Some((to, ttl)) = &self.alias {
            return Lookup::Alias(to, *ttl, list);
        }
        match &self.forward {
            Some(to) => Lookup::Forward(to.as_ref(), list),
            None => Lookup::OtherType,
        }
    }

    /// Compiles the entries of one name.
    fn compile(entries: Vec<u64>, all: &BTreeMap<u64, Entry>) -> Self {
        let mut set = Self::default();
        let mut records: BTreeMap<u16, Vec<(Vec<u8>, u32)>> = BTreeMap::new();
        for entry in entries.iter().filter_map(|id| all.get(id)) {
            if set.list.is_none() {
                set.list.clone_from(&entry.list);
            }
            let mut add = |kind, data: &[u8]| {
                let data = (data.to_vec(), entry.ttl);
                records.entry(kind).or_default().push(data);
            };
            match &entry.data {
                Data::Address(IpAddr::V4(address)) => add(A, &address.octets()),
                Data::Address(IpAddr::V6(address)) => add(AAAA, &address.octets()),
                Data::Record(kind, data) => add(*kind, data),
                Data::Alias(to) => {
                    add(CNAME, to);
                    set.alias.get_or_insert_with(|| (to.clone(), entry.ttl));
                }
                Data::NoName => set.no_name = Some(Stored::empty(NO_NAME)),
                Data::Forward(to) => {
                    set.forward.get_or_insert_with(|| to.clone());
                }
            }
        }
        let all = records.iter().filter_map(|(kind, records)| {
            let records: Vec<_> = { records.iter() }
                .map(|(data, ttl)| (&**data, *ttl))
                .collect();
            answer(*kind, &records)
        });
        set.answers = all.collect();
        set.entries = entries;
        set
    }
}

/// Adds an entry to the set of a name, or removes it.
fn file(
    map: &mut HashMap<Box<[u8]>, Set>,
    name: &[u8],
    id: u64,
    comes: bool,
    all: &BTreeMap<u64, Entry>,
) {
    let mut entries = map.remove(name).map(|set| set.entries).unwrap_or_default();
    entries.retain(|other| *other != id);
    if comes {
        let at = entries.partition_point(|other| *other < id);
        entries.insert(at, id);
    }
    if !entries.is_empty() {
        map.insert(name.into(), Set::compile(entries, all));
    }
}

/// Encodes records of one type as an answer.
fn answer(kind: u16, records: &[(&[u8], u32)]) -> Option<(u16, Stored)> {
    /// Maximum number of records of a name, and of their bytes.
    const MOST: usize = 1000;
    const BYTES: usize = 60_000;
    let mut body = Vec::new();
    let mut count = 0;
    for (data, ttl) in records.iter().take(MOST) {
        if body.len() + data.len() < BYTES {
            put_record(kind, *ttl, data, &mut body);
            count += 1;
        }
    }
    let key = Key::new(&[0], kind, false)?;
    let stored = (count > 0).then(|| Stored::new(&key, 0, (count, 0), &body))??;
    Some((kind, stored))
}

/// Name without its first label.
fn parent(name: &[u8]) -> Option<&[u8]> {
    let (len, rest) = name.split_first()?;
    rest.get(usize::from(*len)..).filter(|_| *len > 0)
}

/// Name of the PTR query for an address (RFC 1035, 3.5; RFC 3596, 2.5).
pub(super) fn reverse_name(address: IpAddr) -> Box<[u8]> {
    let mut name = Vec::with_capacity(74);
    let mut put = |label: &[u8]| {
        name.push(label.len() as u8);
        name.extend_from_slice(label);
    };
    match address {
        IpAddr::V4(address) => {
            for byte in address.octets().iter().rev() {
                put(byte.to_string().as_bytes());
            }
            put(b"in-addr");
        }
        IpAddr::V6(address) => {
            for byte in address.octets().iter().rev() {
                let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                put(&[digit(byte & 0xf)]);
                put(&[digit(byte >> 4)]);
            }
            put(b"ip6");
        }
    }
    put(b"arpa");
    name.push(0);
    name.into()
}

/// All regular expressions, compiled into one lazily built automaton.
#[derive(Debug, Default)]
struct Patterns {
    /// Ids of entries with regular expressions, in order.
    order: Vec<u64>,
    /// Compiled entries by pattern.
    sets: Vec<Set>,
    automaton: Option<Automaton>,
    /// The automaton must be rebuilt.
    stale: bool,
    /// Patterns that match the last name searched for, in order.
    found: Vec<usize>,
}

#[derive(Debug)]
struct Automaton {
    dfa: lazy::DFA,
    cache: lazy::Cache,
    matches: PatternSet,
}

impl Patterns {
    /// Finds the patterns that match a name.
    fn search(&mut self, key: &Key, entries: &BTreeMap<u64, Entry>) {
        self.found.clear();
        if self.order.is_empty() {
            return;
        }
        if self.stale {
            self.build(entries);
        }
        let Some(automaton) = &mut self.automaton else {
            return;
        };
        let text = text_of(key.name());
        automaton.matches.clear();
        let input = Input::new(&text);
        let (cache, matches) = (&mut automaton.cache, &mut automaton.matches);
        // Fails only at the memory limit; matches found until then are used.
        let _ = automaton
            .dfa
            .try_which_overlapping_matches(cache, &input, matches);
        let found = automaton.matches.iter().map(|pattern| pattern.as_usize());
        self.found.extend(found);
        self.found.sort_unstable();
    }

    fn build(&mut self, entries: &BTreeMap<u64, Entry>) {
        self.stale = false;
        let mut texts: Vec<&str> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut ids: Vec<Vec<u64>> = Vec::new();
        for id in &self.order {
            let Some(Names::Matching(text)) = entries.get(id).map(|entry| &entry.names) else {
                continue;
            };
            let place = *places.entry(text).or_insert_with(|| {
                texts.push(text);
                ids.push(Vec::new());
                texts.len() - 1
            });
            ids[place].push(*id);
        }
        let sets = ids.into_iter().map(|ids| Set::compile(ids, entries));
        self.sets = sets.collect();
        self.automaton = automaton(&texts);
    }
}

fn automaton(texts: &[&str]) -> Option<Automaton> {
    let config = lazy::DFA::config()
        .match_kind(MatchKind::All)
        .cache_capacity(AUTOMATON)
        .skip_cache_capacity_check(true);
    let nfa = thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(PATTERNS_MAX));
    let dfa = lazy::DFA::builder()
        .configure(config)
        .syntax(reading())
        .thompson(nfa)
        .build_many(texts)
        .ok()?;
    let cache = dfa.create_cache();
    let matches = PatternSet::new(dfa.pattern_len());
    Some(Automaton {
        dfa,
        cache,
        matches,
    })
}

fn reading() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false)
}

/// Checks that a regular expression compiles within its memory limit.
pub(super) fn check(text: &str) -> Result<(), String> {
    let nfa = thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(PATTERN_MAX));
    let made = thompson::NFA::compiler()
        .syntax(reading())
        .configure(nfa)
        .build(text);
    made.map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(text: &str) -> Box<[u8]> {
        wire::dns::Name::new(text)
            .expect("a name")
            .as_bytes()
            .into()
    }

    fn key(text: &str, kind: u16) -> Key {
        Key::new(&wire(text), kind, false).expect("a name")
    }

    fn entry(names: Names, data: Data) -> Entry {
        Entry {
            names,
            data,
            ttl: 60,
            list: None,
        }
    }

    fn address(last: u8) -> Data {
        Data::Address([10, 0, 0, last].into())
    }

    /// Last bytes of the addresses found; `None` if the query is forwarded.
    fn asked(statics: &mut Statics, text: &str) -> Option<Vec<u8>> {
        match statics.find(&key(text, A)) {
            Lookup::Answer(stored, _) => Some(stored.body.chunks(16).map(|one| one[15]).collect()),
            _ => None,
        }
    }

    #[test]
    fn regular_expressions_match_first_then_the_closest_static_name() {
        let mut statics = Statics::default();
        let pattern = |text: &str| Names::Matching(text.into());
        let entries = [
            (1, Names::One(wire("a.example")), 1),
            (2, Names::One(wire("A.Example")), 2),
            (3, Names::Below(wire("example")), 3),
            (4, Names::Below(wire("b.example")), 4),
            (5, pattern(r"^x[0-9]+\."), 5),
            (6, pattern(r"\.lan$"), 6),
            (7, pattern(r"^x1"), 7),
        ];
        for (id, names, last) in entries {
            statics
                .put(id, Some(entry(names, address(last))))
                .expect("good");
        }

        assert_eq!(asked(&mut statics, "a.example"), Some(vec![1, 2]));
        assert_eq!(asked(&mut statics, "q.a.example"), Some(vec![3]));
        assert_eq!(asked(&mut statics, "example"), Some(vec![3]));
        assert_eq!(asked(&mut statics, "q.r.b.example"), Some(vec![4]));
        assert_eq!(asked(&mut statics, "x12.a.example"), Some(vec![5]));
        assert_eq!(asked(&mut statics, "x1.lan"), Some(vec![5]));
        assert_eq!(asked(&mut statics, "other"), None);
        statics.set_order([7, 6, 5].into_iter());
        assert_eq!(asked(&mut statics, "x1.lan"), Some(vec![7]));
        statics.put(7, None).expect("gone");
        assert_eq!(asked(&mut statics, "x1.lan"), Some(vec![6]));
        statics.put(1, None).expect("gone");
        assert_eq!(asked(&mut statics, "a.example"), Some(vec![2]));
        statics.put(2, None).expect("gone");
        assert_eq!(asked(&mut statics, "a.example"), Some(vec![3]));
        assert!(
            statics
                .put(9, Some(entry(pattern("("), address(9))))
                .is_err()
        );
    }

    #[test]
    fn other_record_types_are_forwarded_and_static_addresses_resolve_to_names() {
        let mut statics = Statics::default();
        let name = Names::One(wire("a.example"));
        statics
            .put(1, Some(entry(name.clone(), address(1))))
            .expect("good");

        let found = statics.find(&key("a.example", AAAA));
        assert!(matches!(found, Lookup::OtherType));
        assert!(matches!(
            statics.find(&key("b.example", A)),
            Lookup::Nothing
        ));
        let reverse = statics.find(&key("1.0.0.10.in-addr.arpa", PTR));
        let Lookup::Answer(stored, _) = reverse else {
            panic!("{reverse:?}")
        };
        assert!(stored.body.ends_with(&wire("a.example")));

        statics
            .put(1, Some(entry(name, Data::NoName)))
            .expect("good");
        let found = statics.find(&key("a.example", MX));
        assert!(matches!(found, Lookup::Answer(stored, _) if stored.code == NO_NAME));
        let reverse = statics.find(&key("1.0.0.10.in-addr.arpa", PTR));
        assert!(matches!(reverse, Lookup::Nothing));
    }

    #[test]
    fn reverse_names_have_the_digits_in_reverse_order() {
        let name = reverse_name("2001:db8::1".parse().expect("an address"));

        let text = text_of(&name);
        assert!(text.starts_with("1.0.0.0.") && text.ends_with("8.b.d.0.1.0.0.2.ip6.arpa"));
        assert_eq!(name.len(), 74);
    }
}
