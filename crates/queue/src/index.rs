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
        self.0 ^ self.0 >> 29
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
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
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

/// Lists by mark and by the rest of the target. Mark 0 means any mark.
type Lists<K, V> = Table<(K, u32), List<V>>;

/// Targets of one prefix length.
#[derive(Debug)]
struct Prefixes<V> {
    len: u8,
    lists: Lists<u128, V>,
}

/// The index of simple queues.
#[derive(Debug)]
pub struct Index<V> {
    /// Prefixes for IPv4 and for IPv6, longest first.
    prefixes: [Vec<Prefixes<V>>; 2],
    interfaces: Lists<u32, V>,
    /// The match of each inserted queue, by number.
    matches: Table<u64, Match>,
    /// Number of queues that match marks.
    marked: usize,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self {
            prefixes: [Vec::new(), Vec::new()],
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
                Target::Prefix { ipv6, address, len } => {
                    put(self.of_len(ipv6, len), (address, mark), candidate);
                }
                Target::Interface(id) => put(&mut self.interfaces, (id, mark), candidate),
            }
        }
        self.marked += usize::from(!matches.marks.is_empty());
        self.matches.insert(id, matches);
    }

    /// Returns the lists for a prefix length.
    fn of_len(&mut self, ipv6: bool, len: u8) -> &mut Lists<u128, V> {
        let all = &mut self.prefixes[usize::from(ipv6)];
        let at = all.partition_point(|prefixes| prefixes.len > len);
        if all.get(at).is_none_or(|prefixes| prefixes.len != len) {
            let lists = Table::default();
            all.insert(at, Prefixes { len, lists });
        }
        &mut all[at].lists
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
                Target::Prefix { ipv6, address, len } => {
                    let all = &mut self.prefixes[usize::from(ipv6)];
                    for prefixes in all.iter_mut().filter(|prefixes| prefixes.len == len) {
                        take(&mut prefixes.lists, (address, mark), id);
                    }
                    all.retain(|prefixes| !prefixes.lists.is_empty());
                }
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
        let mut best = None;
        for Prefixes { len, lists } in &self.prefixes[usize::from(seen.ipv6)] {
            let key = masked(address, seen.ipv6, *len);
            best = better(best, lists, key, mark, takes);
        }
        if !self.interfaces.is_empty() && interface != 0 {
            best = better(best, &self.interfaces, interface, mark, takes);
        }
        best
    }
}

/// Returns the first queue of `best` and the lists with this key, for this mark and for any mark.
#[inline]
fn better<'a, K: Hash + Eq + Copy, V>(
    best: Option<&'a Candidate<V>>,
    lists: &'a Lists<K, V>,
    key: K,
    mark: u32,
    takes: impl Fn(&Match) -> bool,
) -> Option<&'a Candidate<V>> {
    let matches = |one: &&Candidate<V>| one.asks.iter().all(&takes);
    let first = |mark: u32| lists.get(&(key, mark))?.iter().find(matches);
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

/// Inserts a candidate into a list in order.
fn put<K: Hash + Eq, V>(lists: &mut Lists<K, V>, key: (K, u32), candidate: Candidate<V>) {
    let list = lists.entry(key).or_default();
    let place = (&candidate.order, candidate.id);
    let at = list.partition_point(|one| (&one.order, one.id) < place);
    list.insert(at, candidate);
}

/// Removes a candidate from a list.
fn take<K: Hash + Eq, V>(lists: &mut Lists<K, V>, key: (K, u32), id: u64) {
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
