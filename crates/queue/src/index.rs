//! The index: which simple queue a packet is of, of thousands, without walking their list.
//!
//! RouterOS: the list is walked in its order, and the first queue counts whose target is the packet's destination
//! (download) or source (upload); a queue that matches both ways is met as download. Here all queues with one target
//! and mark stand in one short list, and a packet looks up its own addresses, once for each length of prefix that some
//! queue has. The first in the list's order is the one that the walk would have found.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What a queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Addresses with this prefix; IPv4 in the low 32 bits, `len` counts from their first bit.
    Prefix {
        /// IPv6 rather than IPv4.
        ipv6: bool,
        /// The prefix; what lies behind it is 0.
        address: u128,
        /// How many bits it has.
        len: u8,
    },
    /// What comes in or goes out by this interface.
    Interface(u32),
}

/// Which way a packet goes, as the target sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the target.
    Up,
    /// To the target.
    Down,
}

/// Which packets a queue is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Any of them.
    pub targets: Vec<Target>,
    /// Whom the target exchanges packets with, if that counts.
    pub peer: Option<Target>,
    /// Marks, any of them; none: whatever the mark.
    pub marks: Vec<u32>,
}

/// What is looked at of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// IPv6 rather than IPv4.
    pub ipv6: bool,
    /// Its source as it came.
    pub source: u128,
    /// Its destination as it leaves.
    pub destination: u128,
    /// The interface that it came by; 0: none.
    pub ingress: u32,
    /// The interface that it leaves by; 0: none.
    pub egress: u32,
    /// Its mark; 0: none.
    pub mark: u32,
}

/// Queues that have a target and a mark in common. No mark is 0 here: those for whatever mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    target: Target,
    mark: u32,
}

/// Few words, none of which a stranger chooses: so a product does.
#[derive(Default)]
struct Product(u64);

impl Hasher for Product {
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

/// A place in the list: of the outermost queue, then of those within each other. Places compare one after the other, so
/// that a queue comes and goes between others without their places changing.
pub type Order = Box<[u64]>;

/// A queue of the list.
#[derive(Debug)]
struct Entry<V> {
    order: Order,
    matches: Match,
    /// What it lies in: that has to match, too.
    within: Vec<Match>,
    value: V,
}

/// See the module.
#[derive(Debug)]
pub struct Index<V> {
    lists: HashMap<Key, Vec<(Order, u64)>, BuildHasherDefault<Product>>,
    entries: HashMap<u64, Entry<V>, BuildHasherDefault<Product>>,
    /// How many targets have a prefix of this length: IPv4, IPv6.
    lens: [Vec<u32>; 2],
    /// The lengths that some have, longest first.
    used: [Vec<u8>; 2],
    /// How many targets are interfaces, and how many entries want marks.
    interfaces: usize,
    marked: usize,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self {
            lists: HashMap::default(),
            entries: HashMap::default(),
            lens: [vec![0; 33], vec![0; 129]],
            used: [Vec::new(), Vec::new()],
            interfaces: 0,
            marked: 0,
        }
    }
}

/// An address without the bits behind a prefix of this length.
fn masked(address: u128, ipv6: bool, len: u8) -> u128 {
    let bits = if ipv6 { 128 } else { 32 };
    let rest = bits - u32::from(len).min(bits);
    match rest {
        128 => 0,
        rest => address >> rest << rest,
    }
}

impl Target {
    fn covers(&self, ipv6: bool, address: u128, interface: u32) -> bool {
        match *self {
            Self::Prefix {
                ipv6: of,
                address: prefix,
                len,
            } => of == ipv6 && masked(address, ipv6, len) == prefix,
            Self::Interface(id) => id == interface,
        }
    }
}

impl Match {
    /// Whether a packet that goes this way is meant.
    fn takes(&self, seen: &Seen, direction: Direction) -> bool {
        let (own, peer) = seen.ends(direction);
        let is_peer = |target: &Target| target.covers(seen.ipv6, peer.0, peer.1);
        let is_own = |target: &Target| target.covers(seen.ipv6, own.0, own.1);
        (self.marks.is_empty() || self.marks.contains(&seen.mark))
            && self.peer.as_ref().is_none_or(is_peer)
            && self.targets.iter().any(is_own)
    }
}

impl Seen {
    /// Address and interface on the target's side, and on the other.
    fn ends(&self, direction: Direction) -> ((u128, u32), (u128, u32)) {
        let (from, to) = ((self.source, self.ingress), (self.destination, self.egress));
        match direction {
            Direction::Down => (to, from),
            Direction::Up => (from, to),
        }
    }
}

impl<V> Index<V> {
    /// Whether it has no queue.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts a queue in, or puts it elsewhere: under a number of its own, at this place of the order. What it lies in
    /// has to match as well (`within`).
    pub fn insert(
        &mut self,
        id: u64,
        order: Order,
        (matches, within): (Match, Vec<Match>),
        value: V,
    ) {
        self.remove(id);
        for key in Self::keys(&matches) {
            let list = self.lists.entry(key).or_default();
            let place = (order.clone(), id);
            let at = list.partition_point(|one| *one < place);
            list.insert(at, place);
            self.count(&key.target, true);
        }
        self.marked += usize::from(!matches.marks.is_empty());
        let entry = Entry {
            order,
            matches,
            within,
            value,
        };
        self.entries.insert(id, entry);
    }

    /// Takes a queue out.
    pub fn remove(&mut self, id: u64) -> Option<V> {
        let entry = self.entries.remove(&id)?;
        for key in Self::keys(&entry.matches) {
            if let Some(list) = self.lists.get_mut(&key) {
                list.retain(|(_, other)| *other != id);
                if list.is_empty() {
                    self.lists.remove(&key);
                }
            }
            self.count(&key.target, false);
        }
        self.marked -= usize::from(!entry.matches.marks.is_empty());
        Some(entry.value)
    }

    /// What was put in under a number.
    pub fn get(&self, id: u64) -> Option<&V> {
        self.entries.get(&id).map(|entry| &entry.value)
    }

    /// The queue that a packet is of, and which way it goes.
    pub fn find(&self, seen: &Seen) -> Option<(Direction, &V)> {
        let down = self.first(seen, Direction::Down);
        let up = self.first(seen, Direction::Up);
        let (direction, entry) = match (down, up) {
            (Some(down), Some(up)) if up.order < down.order => (Direction::Up, up),
            (Some(down), _) => (Direction::Down, down),
            (None, up) => (Direction::Up, up?),
        };
        Some((direction, &entry.value))
    }

    /// The first that takes a packet as one that goes this way.
    fn first(&self, seen: &Seen, direction: Direction) -> Option<&Entry<V>> {
        let ((address, interface), _) = seen.ends(direction);
        let ipv6 = seen.ipv6;
        let mut best: Option<&Entry<V>> = None;
        for len in &self.used[usize::from(ipv6)] {
            let address = masked(address, ipv6, *len);
            let len = *len;
            let target = Target::Prefix { ipv6, address, len };
            best = self.better(best, target, seen, direction);
        }
        if self.interfaces > 0 && interface != 0 {
            best = self.better(best, Target::Interface(interface), seen, direction);
        }
        best
    }

    /// The first of those found before and of those with this target.
    #[inline]
    fn better<'a>(
        &'a self,
        mut best: Option<&'a Entry<V>>,
        target: Target,
        seen: &Seen,
        direction: Direction,
    ) -> Option<&'a Entry<V>> {
        let marks = [0, seen.mark];
        let marks = match self.marked > 0 && seen.mark != 0 {
            true => &marks[..],
            false => &marks[..1],
        };
        for mark in marks {
            let list = self.lists.get(&Key {
                target,
                mark: *mark,
            });
            for (order, id) in list.into_iter().flatten() {
                if best.is_some_and(|best| best.order <= *order) {
                    break;
                }
                let entry = self.entries.get(id);
                let takes = |entry: &&Entry<V>| {
                    let plain = entry.matches.peer.is_none() && entry.within.is_empty();
                    let mut all = core::iter::once(&entry.matches).chain(&entry.within);
                    plain || all.all(|one| one.takes(seen, direction))
                };
                if let Some(entry) = entry.filter(takes) {
                    best = Some(entry);
                    break;
                }
            }
        }
        best
    }

    /// Where a queue is to be found.
    fn keys(matches: &Match) -> Vec<Key> {
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
        let mut seen = Vec::new();
        keys.retain(|key| {
            !seen.contains(key) && {
                seen.push(*key);
                true
            }
        });
        keys.into_iter()
            .map(|(target, mark)| Key { target, mark })
            .collect()
    }

    /// Counts a target that comes or goes.
    fn count(&mut self, target: &Target, comes: bool) {
        let Target::Prefix { ipv6, len, .. } = *target else {
            return match comes {
                true => self.interfaces += 1,
                false => self.interfaces -= 1,
            };
        };
        let family = usize::from(ipv6);
        let Some(count) = self.lens[family].get_mut(usize::from(len)) else {
            return;
        };
        match comes {
            true => *count += 1,
            false => *count -= 1,
        }
        let lens = self.lens[family].iter().zip(0..);
        let used = lens.filter(|(count, _)| **count > 0);
        self.used[family] = used.map(|(_, len)| len).collect();
        self.used[family].reverse();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What RouterOS does: the list, one after the other.
    fn walk<'a>(
        list: &'a [(u64, Order, Match, Vec<Match>)],
        seen: &Seen,
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

    fn seen() -> impl Strategy<Value = Seen> {
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
                Seen {
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
        /// The index finds what a walk along the list finds, whatever came and went before.
        #[test]
        fn it_finds_what_the_list_does(
            queues in proptest::collection::vec((0_u64..20, matches(), proptest::option::weighted(0.3, matches())), 0..20),
            gone in proptest::collection::vec(0_u64..20, 0..8),
            packets in proptest::collection::vec(seen(), 20),
        ) {
            let mut index = Index::default();
            let mut list = Vec::new();
            for (id, (order, matches, within)) in queues.into_iter().enumerate() {
                let (id, within) = (id as u64, Vec::from_iter(within));
                let order = Order::from([order, id]);
                index.insert(id, order.clone(), (matches.clone(), within.clone()), id);
                list.push((id, order, matches, within));
            }
            for id in gone {
                prop_assert_eq!(index.remove(id).is_some(), list.iter().any(|one| one.0 == id));
                list.retain(|one| one.0 != id);
            }
            for packet in packets {
                prop_assert_eq!(index.find(&packet), walk(&list, &packet), "{:?}", packet);
            }
        }
    }
}
