//! The limits of packets that come at one time, such as those of a vector: a leaf queue is charged once for all its
//! packets.
//!
//! A leaf whose limits have tokens for all packets of the tree lets each pass, in whatever order they come. If a leaf
//! of a tree may not have them, the packets of that tree are asked one by one, in order, by [`Node::pass`].

use machine::Instant;

use crate::node::Node;

/// Maximum number of packets that pass together.
pub const TOGETHER: usize = 256;

/// Buckets of the table of leaves: twice their number, so that a search ends soon.
const BUCKETS: usize = 2 * TOGETHER;

/// Memory for packets that pass together.
#[derive(Debug)]
pub struct Together {
    /// By the hash of a leaf: the number of its group, valid if the entry is of this round.
    buckets: [Bucket; BUCKETS],
    round: u32,
    groups: [Group; TOGETHER],
    /// The group of each packet.
    of: [u16; TOGETHER],
    /// The last packets had more leaves than half their number: grouping such packets costs more than it saves.
    is_spread: bool,
    /// Number of rounds since packets were grouped last.
    since: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    round: u32,
    group: u16,
}

/// The packets of one leaf.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// The position of the first packet.
    first: u16,
    packets: u16,
    bytes: u32,
    /// All packets have passed.
    passed: bool,
}

/// Spread packets are grouped once in so many rounds, to notice when they are no longer spread.
const ROUNDS: u8 = 32;

impl Default for Together {
    fn default() -> Self {
        Self {
            buckets: [Bucket::default(); BUCKETS],
            round: 0,
            groups: [Group::default(); TOGETHER],
            of: [0; TOGETHER],
            is_spread: false,
            since: 0,
        }
    }
}

impl Together {
    /// Passes `count` packets, at most [`TOGETHER`], through their leaves, as [`Node::pass`] does for one after
    /// another. `packet` returns the leaf and the bytes of the packet at a position, if it has a leaf. Calls `waits`
    /// for each packet that does not pass, in order.
    pub fn pass<'a>(
        &mut self,
        count: usize,
        packet: impl Fn(usize) -> Option<(&'a Node, u32)>,
        now: Instant,
        waits: impl FnMut(usize),
    ) {
        let count = count.min(TOGETHER);
        self.since = self.since.wrapping_add(1) % ROUNDS;
        if self.is_spread && self.since != 0 {
            return ask_one_by_one(count, packet, |_| false, now, waits);
        }
        let len = self.group(count, &packet);
        let (groups, of) = (&mut self.groups[..len], &self.of);
        let leaf = |group: &Group| packet(group.first.into()).map(|(leaf, _)| leaf);
        if !pass_groups(groups, leaf, now) {
            let has_passed =
                |at: usize| groups.get(usize::from(of[at])).is_some_and(|of| of.passed);
            ask_one_by_one(count, &packet, has_passed, now, waits);
        }
    }

    /// Groups packets by their leaves. Returns the number of groups.
    #[inline(always)]
    fn group<'a>(
        &mut self,
        count: usize,
        packet: &impl Fn(usize) -> Option<(&'a Node, u32)>,
    ) -> usize {
        self.round = self.round.wrapping_add(1);
        let (mut len, mut packets) = (0, 0);
        let mut last: (Option<&Node>, usize) = (None, 0);
        for at in 0..count {
            let Some((leaf, bytes)) = packet(at) else {
                continue;
            };
            packets += 1;
            let is_last = last.0.is_some_and(|known| core::ptr::eq(known, leaf));
            let number = match is_last {
                true => last.1,
                false => {
                    let is = |group: &Group| {
                        packet(group.first.into())
                            .is_some_and(|(known, _)| core::ptr::eq(known, leaf))
                    };
                    self.number(leaf, is, len)
                }
            };
            last = (Some(leaf), number);
            if number == len {
                len += 1;
                self.groups[number] = Group {
                    first: at as u16,
                    ..Group::default()
                };
            }
            self.of[at] = number as u16;
            let group = &mut self.groups[number];
            group.packets += 1;
            group.bytes += bytes;
        }
        self.is_spread = 2 * len > packets;
        len
    }

    /// Returns the number of a leaf's group, of which `is` is true; `len` and records it if there is none.
    #[inline(always)]
    fn number(&mut self, leaf: &Node, is: impl Fn(&Group) -> bool, len: usize) -> usize {
        // Nodes are aligned to 128 bytes.
        let address = (core::ptr::from_ref(leaf).addr() >> 7) as u64;
        let mut at = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize;
        loop {
            let bucket = &mut self.buckets[at % BUCKETS];
            if bucket.round != self.round {
                (bucket.round, bucket.group) = (self.round, len as u16);
                return len;
            }
            let number = usize::from(bucket.group) % TOGETHER;
            if is(&self.groups[number]) {
                return number;
            }
            at += 1;
        }
    }
}

/// Passes groups of leaves that surely have tokens for all their packets. Returns true if all have passed.
#[inline(always)]
fn pass_groups<'a>(
    groups: &mut [Group],
    leaf: impl Fn(&Group) -> Option<&'a Node>,
    now: Instant,
) -> bool {
    let (mut all, mut nested) = (true, false);
    for group in groups.iter_mut() {
        let Some(leaf) = leaf(group) else {
            continue;
        };
        if leaf.parent().is_some() {
            nested = true;
            continue;
        }
        let bytes = group.bytes.into();
        group.passed = leaf.admits(bytes, bytes, now);
        if group.passed {
            leaf.charge_all(group.packets.into(), bytes, now);
        }
        all &= group.passed;
    }
    all & (!nested || pass_nested(groups, leaf, now))
}

/// Maximum number of trees that refuse their packets while those of others pass together.
const TREES: usize = 16;

/// Like [`pass_groups`], for leaves with parents: all groups of a tree pass, or none. A tree is checked for the bytes
/// of all groups with parents, whichever tree they belong to. If more than [`TREES`] trees refuse, no group passes.
#[inline(never)]
fn pass_nested<'a>(
    groups: &mut [Group],
    leaf: impl Fn(&Group) -> Option<&'a Node>,
    now: Instant,
) -> bool {
    let nested = |group: &Group| leaf(group).filter(|leaf| leaf.parent().is_some());
    let of_trees = groups.iter().filter(|group| nested(group).is_some());
    let bytes = of_trees.map(|group| u64::from(group.bytes)).sum();
    let (mut refuses, mut count) = ([None; TREES], 0);
    for group in groups.iter() {
        let refused = nested(group).filter(|leaf| !leaf.admits(group.bytes.into(), bytes, now));
        let Some(root) = refused.map(Node::root) else {
            continue;
        };
        if !is_one_of(&refuses, root) {
            if let Some(place) = refuses.get_mut(count) {
                *place = Some(root);
            }
            count += 1;
        }
    }
    for group in groups.iter_mut() {
        let Some(leaf) = nested(group) else {
            continue;
        };
        group.passed = count <= TREES && !is_one_of(&refuses, leaf.root());
        if group.passed {
            leaf.charge_all(group.packets.into(), group.bytes.into(), now);
        }
    }
    count == 0
}

/// Returns true if a root is in a list.
fn is_one_of(roots: &[Option<&Node>; TREES], root: &Node) -> bool {
    let known = roots.iter().map_while(|known| *known);
    { known }.any(|known| core::ptr::eq(known, root))
}

/// Asks the leaves of packets that have not passed yet, in order.
#[inline(never)]
fn ask_one_by_one<'a>(
    count: usize,
    packet: impl Fn(usize) -> Option<(&'a Node, u32)>,
    has_passed: impl Fn(usize) -> bool,
    now: Instant,
    mut waits: impl FnMut(usize),
) {
    for at in 0..count {
        let Some((leaf, bytes)) = packet(at).filter(|_| !has_passed(at)) else {
            continue;
        };
        if !leaf.pass(bytes, now) {
            waits(at);
        }
    }
}

#[cfg(test)]
mod tests;
