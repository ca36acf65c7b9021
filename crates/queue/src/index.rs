//! The index of simple queues: finds the queue of a packet among thousands without a list walk.
//!
//! RouterOS walks the list in order. The first queue wins whose target is the packet's destination (download)
//! or source (upload); a queue that matches in both directions is used for download. This index groups queues
//! with the same target and mark in a short list. A packet looks up its own addresses, once per prefix length
//! that a queue has. The queue that comes first in the order is the result of the walk.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use smallvec::SmallVec;

use crate::target::{Direction, Match, PacketFields, Target, masked};

/// A table whose keys are not chosen by untrusted senders.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<ProductHasher>>;

/// Hasher for keys of a few words, for which a product is sufficient.
#[derive(Default)]
pub(crate) struct ProductHasher(u64);

impl Hasher for ProductHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        // Both halves of the product: prefixes have zeros at their end.
        let product = u128::from(self.0.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Position in the list: of the outermost queue, then of the nested queues. Positions are compared
/// lexicographically, so that queues can be inserted and removed without changing the positions of others.
pub type Order = SmallVec<[u64; 2]>;

/// A queue in the lists of the index.
#[derive(Debug)]
struct Candidate<V> {
    order: Order,
    id: u64,
    /// Matches to check in addition to the target and mark of the list.
    asks: Vec<Match>,
    value: V,
}

/// Queues with the same target and mark, in order. Most targets have one queue, which is stored inline.
type List<V> = SmallVec<[Candidate<V>; 1]>;

/// Key of a list in [`Prefixes`]: the address bits of the prefix, and a mark.
trait PrefixKey: Copy + Eq + Hash {
    fn new(address: u128, mark: u32) -> Self;
}

/// IPv4 in one word.
impl PrefixKey for u64 {
    #[inline(always)]
    fn new(address: u128, mark: u32) -> Self {
        Self::from(address as u32) << 32 | Self::from(mark)
    }
}

/// IPv6.
impl PrefixKey for (u128, u32) {
    #[inline(always)]
    fn new(address: u128, mark: u32) -> Self {
        (address, mark)
    }
}

/// Targets of one prefix length.
#[derive(Debug)]
struct Prefixes<K, V> {
    len: u8,
    /// The address bits that the prefixes compare.
    mask: u128,
    lists: Table<K, List<V>>,
    /// Queues for any mark, if no bit is compared: every packet matches them without a look-up.
    whole: List<V>,
}

impl<K: PrefixKey, V> Prefixes<K, V> {
    fn new(len: u8, ipv6: bool) -> Self {
        Self {
            len,
            mask: masked(u128::MAX, ipv6, len),
            lists: Table::default(),
            whole: List::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.whole.is_empty()
    }

    /// Returns the queues whose prefix an address has, for a mark; mark 0 returns those for any mark.
    #[inline(always)]
    fn list(&self, address: u128, mark: u32) -> &[Candidate<V>] {
        if self.len == 0 && mark == 0 {
            return &self.whole;
        }
        let list = self.lists.get(&K::new(address & self.mask, mark));
        list.map_or(&[], |list| list)
    }

    fn put(&mut self, address: u128, mark: u32, candidate: Candidate<V>) {
        match (self.len, mark) {
            (0, 0) => add(&mut self.whole, candidate),
            _ => put(&mut self.lists, K::new(address, mark), candidate),
        }
    }

    fn take(&mut self, address: u128, mark: u32, id: u64) {
        match (self.len, mark) {
            (0, 0) => self.whole.retain(|one| one.id != id),
            _ => take(&mut self.lists, K::new(address, mark), id),
        }
    }
}

/// The prefixes of a family, longest first.
#[derive(Debug)]
struct PrefixTable<K, V>(Vec<Prefixes<K, V>>);

impl<K: PrefixKey, V> PrefixTable<K, V> {
    /// Returns the lists for a prefix length.
    fn of_len(&mut self, len: u8, ipv6: bool) -> &mut Prefixes<K, V> {
        let at = self.0.partition_point(|prefixes| prefixes.len > len);
        if self.0.get(at).is_none_or(|prefixes| prefixes.len != len) {
            self.0.insert(at, Prefixes::new(len, ipv6));
        }
        &mut self.0[at]
    }

    fn take(&mut self, len: u8, address: u128, mark: u32, id: u64) {
        if let Some(at) = self.0.iter().position(|prefixes| prefixes.len == len) {
            self.0[at].take(address, mark, id);
            if self.0[at].is_empty() {
                self.0.remove(at);
            }
        }
    }

    /// Returns the first queue that an address and a mark match.
    #[inline(always)]
    fn first(
        &self,
        address: u128,
        mark: u32,
        takes: impl Fn(&Match) -> bool,
    ) -> Option<&Candidate<V>> {
        let mut best = None;
        for prefixes in &self.0 {
            best = better(best, |mark| prefixes.list(address, mark), mark, &takes);
        }
        best
    }
}

/// The index of simple queues.
#[derive(Debug)]
pub struct Index<V> {
    ipv4: PrefixTable<u64, V>,
    ipv6: PrefixTable<(u128, u32), V>,
    interfaces: Table<(u32, u32), List<V>>,
    /// The match of each inserted queue, by number.
    matches: Table<u64, Match>,
    /// Number of queues that match marks.
    marked: usize,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self {
            ipv4: PrefixTable(Vec::new()),
            ipv6: PrefixTable(Vec::new()),
            interfaces: Table::default(),
            matches: Table::default(),
            marked: 0,
        }
    }
}

impl<V: Clone> Index<V> {
    /// Inserts or moves a queue: `id` is unique, `order` is its position. The matches of its parents
    /// (`within`) must match as well.
    pub fn insert(&mut self, id: u64, order: Order, matches: Match, within: Vec<Match>, value: V) {
        self.remove(id);
        let mut asks = within;
        if matches.peer.is_some() {
            asks.insert(0, matches.clone());
        }
        for (target, mark) in keys(&matches) {
            let candidate = Candidate {
                order: order.clone(),
                id,
                asks: asks.clone(),
                value: value.clone(),
            };
            match target {
                Target::Prefix { ipv6, address, len } => match ipv6 {
                    true => self.ipv6.of_len(len, ipv6).put(address, mark, candidate),
                    false => self.ipv4.of_len(len, ipv6).put(address, mark, candidate),
                },
                Target::Interface(id) => put(&mut self.interfaces, (id, mark), candidate),
            }
        }
        self.marked += usize::from(!matches.marks.is_empty());
        self.matches.insert(id, matches);
    }
}

impl<V> Index<V> {
    /// Returns true if the index has no queue.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// Removes a queue. Returns true if the queue existed.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(matches) = self.matches.remove(&id) else {
            return false;
        };
        for (target, mark) in keys(&matches) {
            match target {
                Target::Interface(of) => take(&mut self.interfaces, (of, mark), id),
                Target::Prefix { ipv6, address, len } => match ipv6 {
                    true => self.ipv6.take(len, address, mark, id),
                    false => self.ipv4.take(len, address, mark, id),
                },
            }
        }
        self.marked -= usize::from(!matches.marks.is_empty());
        true
    }

    /// Returns the queue of a packet, and the direction of the packet.
    #[inline]
    pub fn find(&self, seen: &PacketFields) -> Option<(Direction, &V)> {
        let down = self.first(seen, Direction::Down);
        let up = self.first(seen, Direction::Up);
        let (direction, found) = match (down, up) {
            (Some(down), Some(up)) if up.order < down.order => (Direction::Up, up),
            (Some(down), _) => (Direction::Down, down),
            (None, up) => (Direction::Up, up?),
        };
        Some((direction, &found.value))
    }

    /// Returns the first queue that matches a packet in this direction.
    #[inline]
    fn first(&self, seen: &PacketFields, direction: Direction) -> Option<&Candidate<V>> {
        let ((address, interface), _) = seen.ends(direction);
        let mark = if self.marked > 0 { seen.mark } else { 0 };
        let takes = |asks: &Match| asks.takes(seen, direction);
        let best = match seen.ipv6 {
            true => self.ipv6.first(address, mark, takes),
            false => self.ipv4.first(address, mark, takes),
        };
        if self.interfaces.is_empty() || interface == 0 {
            return best;
        }
        let list = |mark| {
            let list = self.interfaces.get(&(interface, mark));
            list.map_or(&[][..], |list| list)
        };
        better(best, list, mark, takes)
    }
}

/// Returns the first queue of `best` and of the lists for this mark and for any mark.
#[inline(always)]
fn better<'a, V>(
    best: Option<&'a Candidate<V>>,
    list: impl Fn(u32) -> &'a [Candidate<V>],
    mark: u32,
    takes: impl Fn(&Match) -> bool,
) -> Option<&'a Candidate<V>> {
    let matches = |one: &&Candidate<V>| one.asks.iter().all(&takes);
    let first = |mark: u32| list(mark).iter().find(matches);
    let any = earlier(best, first(0));
    match mark {
        0 => any,
        mark => earlier(any, first(mark)),
    }
}

#[inline]
fn earlier<'a, V>(
    one: Option<&'a Candidate<V>>,
    other: Option<&'a Candidate<V>>,
) -> Option<&'a Candidate<V>> {
    match (one, other) {
        (Some(one), Some(other)) if other.order < one.order => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

/// Inserts a candidate into the list of a key.
fn put<K: Hash + Eq, V>(lists: &mut Table<K, List<V>>, key: K, candidate: Candidate<V>) {
    add(lists.entry(key).or_default(), candidate);
}

/// Inserts a candidate into a list in order.
fn add<V>(list: &mut List<V>, candidate: Candidate<V>) {
    let place = (&candidate.order, candidate.id);
    let at = list.partition_point(|one| (&one.order, one.id) < place);
    list.insert(at, candidate);
}

/// Removes a candidate from the list of a key.
fn take<K: Hash + Eq, V>(lists: &mut Table<K, List<V>>, key: K, id: u64) {
    if let Some(list) = lists.get_mut(&key) {
        list.retain(|one| one.id != id);
        if list.is_empty() {
            lists.remove(&key);
        }
    }
}

/// Returns the targets and marks under which a queue is listed, each once.
fn keys(matches: &Match) -> Vec<(Target, u32)> {
    let marks = match matches.marks.is_empty() {
        true => &[0][..],
        false => &matches.marks,
    };
    let of = |target: &Target| {
        marks
            .iter()
            .map(|mark| (*target, *mark))
            .collect::<Vec<_>>()
    };
    let mut keys: Vec<_> = matches.targets.iter().flat_map(of).collect();
    let mut met = std::collections::HashSet::new();
    keys.retain(|key| met.insert(*key));
    keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Walks the list in order, as RouterOS does.
    fn walk<'a>(
        list: &'a [(u64, Order, Match, Vec<Match>)],
        seen: &PacketFields,
    ) -> Option<(Direction, &'a u64)> {
        let mut list: Vec<_> = list.iter().collect();
        list.sort_by_key(|(id, order, ..)| (order.clone(), *id));
        list.into_iter().find_map(|(id, _, matches, within)| {
            let takes = |way| {
                core::iter::once(matches)
                    .chain(within)
                    .all(|one| one.takes(seen, way))
            };
            let ways = [Direction::Down, Direction::Up];
            ways.into_iter()
                .find(|way| takes(*way))
                .map(|way| (way, id))
        })
    }

    fn target() -> impl Strategy<Value = Target> {
        prop_oneof![
            (
                0_u128..16,
                prop_oneof![Just(28_u8), Just(30), Just(32), Just(0)]
            )
                .prop_map(|(low, len)| {
                    let address = masked(0x0a00_0000 + low, false, len);
                    Target::Prefix {
                        ipv6: false,
                        address,
                        len,
                    }
                }),
            (0_u128..8, prop_oneof![Just(126_u8), Just(128)]).prop_map(|(low, len)| {
                let address = masked(0xfd00 << 112 | low, true, len);
                Target::Prefix {
                    ipv6: true,
                    address,
                    len,
                }
            }),
            (1_u32..4).prop_map(Target::Interface),
        ]
    }

    fn matches() -> impl Strategy<Value = Match> {
        let targets = proptest::collection::vec(target(), 1..3);
        let marks = proptest::collection::vec(1_u32..4, 0..3);
        (targets, proptest::option::weighted(0.2, target()), marks).prop_map(
            |(targets, peer, marks)| Match {
                targets,
                peer,
                marks,
            },
        )
    }

    fn seen() -> impl Strategy<Value = PacketFields> {
        (
            any::<bool>(),
            0_u128..16,
            0_u128..16,
            0_u32..4,
            0_u32..4,
            0_u32..4,
        )
            .prop_map(|(ipv6, source, destination, ingress, egress, mark)| {
                let base = if ipv6 { 0xfd00 << 112 } else { 0x0a00_0000 };
                PacketFields {
                    ipv6,
                    source: base + source,
                    destination: base + destination,
                    ingress,
                    egress,
                    mark,
                }
            })
    }

    proptest! {
        /// The index and the list walk give equal results after any insertions and removals.
        #[test]
        fn the_index_matches_a_linear_search(
            queues in proptest::collection::vec((0_u64..20, matches(), proptest::option::weighted(0.3, matches())), 0..20),
            gone in proptest::collection::vec(0_u64..20, 0..8),
            packets in proptest::collection::vec(seen(), 20),
        ) {
            let mut index = Index::default();
            let mut list = Vec::new();
            for (id, (order, matches, within)) in queues.into_iter().enumerate() {
                let (id, within) = (id as u64, Vec::from_iter(within));
                let order = Order::from_slice(&[order, id]);
                index.insert(id, order.clone(), matches.clone(), within.clone(), id);
                list.push((id, order, matches, within));
            }
            for id in gone {
                prop_assert_eq!(index.remove(id), list.iter().any(|one| one.0 == id));
                list.retain(|one| one.0 != id);
            }
            for packet in packets {
                prop_assert_eq!(index.find(&packet), walk(&list, &packet), "{:?}", packet);
            }
        }
    }
}
