//! IPsec policies, which select the packets to protect; a part of the snapshot.
//!
//! The first policy in order that matches a packet decides (RouterOS: "policies are matched from
//! top to bottom"). Policies with equal prefix lengths form a group, in which both prefixes select
//! a bucket of few policies: a lookup costs one binary search for each pair of lengths in use. A
//! change of a policy copies its bucket; copies of [`Policies`] share the other buckets.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::packet::Tuple;
use crate::snapshot::Prefix;

/// The packets that a policy applies to. Both prefixes are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The source prefix.
    pub source: Prefix,
    /// The destination prefix.
    pub destination: Prefix,
    /// Protocol number; 0 matches any.
    pub protocol: u8,
    /// Source port; 0 matches any.
    pub source_port: u16,
    /// Destination port; 0 matches any.
    pub destination_port: u16,
}

impl Selector {
    /// Returns true if protocol and ports match; the caller has matched the addresses.
    fn admits(&self, tuple: &Tuple) -> bool {
        let same = |wanted: u16, is: u16| wanted == 0 || wanted == is;
        (self.protocol == 0 || self.protocol == tuple.protocol)
            && same(self.source_port, tuple.source_port)
            && same(self.destination_port, tuple.destination_port)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, prefix: Prefix, port: u16| {
            let address = match prefix.ipv6 {
                true => IpAddr::from(Ipv6Addr::from_bits(prefix.bits)),
                false => IpAddr::from(Ipv4Addr::from_bits(prefix.bits as u32)),
            };
            write!(f, "{address}/{}", prefix.len)?;
            match port {
                0 => Ok(()),
                port => write!(f, ":{port}"),
            }
        };
        end(f, self.source, self.source_port)?;
        f.write_str("->")?;
        end(f, self.destination, self.destination_port)?;
        match self.protocol {
            0 => Ok(()),
            protocol => write!(f, " of protocol {protocol}"),
        }
    }
}

/// The action of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Packets pass unprotected.
    Pass,
    /// Packets are dropped.
    Discard,
    /// Packets are protected by the associations in this slot ([`super::Associations`]).
    Protect {
        /// The slot.
        slot: u32,
        /// Packets are held back while there is no association; `level=use` lets them pass
        /// unprotected instead.
        required: bool,
    },
}

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The packets for transmission. Received packets match with source and destination exchanged.
    pub selector: Selector,
    /// The action for these packets.
    pub action: Action,
}

/// Position of a policy in the order of all policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Policies of a lower section precede those of a higher one.
    pub section: u8,
    /// The position within the section.
    pub place: u64,
    /// Orders policies of equal section and place.
    pub part: u64,
}

/// Number of buckets of a group.
const BUCKETS: usize = 256;

/// Source and destination prefix of a policy, with host bits cleared.
type Key = (u128, u128);

/// A policy in its bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    key: Key,
    position: Position,
    policy: Policy,
}

/// The policies of one bucket, sorted by key and position.
type Bucket = Vec<Entry>;

/// The policies with these prefix lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    ipv6: bool,
    lens: (u8, u8),
    /// Lower bound of the positions in this group.
    first: Position,
    len: usize,
    /// The [`BUCKETS`] buckets, indexed by [`bucket_of`].
    buckets: Arc<[Arc<Bucket>]>,
}

/// All policies, compiled for lookups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// Groups, sorted by `Group::first`.
    groups: Vec<Group>,
}

impl Group {
    fn new(ipv6: bool, lens: (u8, u8), first: Position) -> Self {
        let empty = Arc::<Bucket>::default();
        Self {
            ipv6,
            lens,
            first,
            len: 0,
            buckets: (0..BUCKETS).map(|_| Arc::clone(&empty)).collect(),
        }
    }

    fn bucket_mut(&mut self, key: Key) -> &mut Bucket {
        Arc::make_mut(&mut Arc::make_mut(&mut self.buckets)[bucket_of(key)])
    }
}

/// Returns the bucket index of a key.
#[inline]
const fn bucket_of(key: Key) -> usize {
    let mixed = key.0 ^ key.1.rotate_left(61);
    let folded = mixed as u64 ^ (mixed >> 64) as u64;
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Returns the family and prefix lengths of a selector, which name its group, and its key in the
/// group.
fn address(selector: &Selector) -> ((bool, (u8, u8)), Key) {
    let Selector {
        source,
        destination,
        ..
    } = selector;
    let key = (source.masked(), destination.masked());
    ((source.ipv6, (source.len, destination.len)), key)
}

impl Policies {
    /// Compiles policies, given in order.
    pub fn new(all: Vec<Policy>) -> Self {
        let mut policies = Self::default();
        for (place, policy) in (0..).zip(all) {
            let position = Position {
                place,
                ..Position::default()
            };
            policies.insert(position, policy);
        }
        policies
    }

    /// Inserts a policy at a position that no other policy has.
    pub fn insert(&mut self, position: Position, policy: Policy) {
        let (of, key) = address(&policy.selector);
        let is_of = |group: &Group| (group.ipv6, group.lens) == of;
        let at = self.groups.iter().position(is_of).unwrap_or_else(|| {
            self.groups.push(Group::new(of.0, of.1, position));
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.len += 1;
        let bucket = group.bucket_mut(key);
        let at = bucket.partition_point(|entry| (entry.key, entry.position) < (key, position));
        let entry = Entry {
            key,
            position,
            policy,
        };
        bucket.insert(at, entry);
        group.first = group.first.min(position);
        self.groups.sort_by_key(|group| group.first);
    }

    /// Removes the policy at a position; `selector` is that of the policy.
    pub fn remove(&mut self, position: Position, selector: &Selector) {
        let (of, key) = address(selector);
        let is_of = |group: &Group| (group.ipv6, group.lens) == of;
        let Some(at) = self.groups.iter().position(is_of) else {
            return;
        };
        let group = &mut self.groups[at];
        let bucket = group.bucket_mut(key);
        let before = bucket.len();
        bucket.retain(|entry| (entry.key, entry.position) != (key, position));
        group.len -= before - bucket.len();
        if group.len == 0 {
            self.groups.remove(at);
        }
    }

    /// Returns true if there are no policies.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the policy with the associations in this slot. Searches all policies.
    pub fn of_slot(&self, slot: u32) -> Option<&Policy> {
        let buckets = self.groups.iter().flat_map(|group| &*group.buckets);
        let mut all = buckets.flat_map(|bucket| bucket.iter());
        let has = |policy: &Policy| matches!(policy.action, Action::Protect { slot: of, .. } if of == slot);
        all.find(|entry| has(&entry.policy))
            .map(|entry| &entry.policy)
    }

    /// Returns the policy of a packet for transmission.
    pub fn outbound(&self, tuple: &Tuple) -> Option<&Policy> {
        let mut found: Option<&Entry> = None;
        for group in &self.groups {
            if found.is_some_and(|found| found.position < group.first) {
                break;
            }
            if group.ipv6 != tuple.ipv6 {
                continue;
            }
            let key = (
                masked(tuple.source, group.ipv6, group.lens.0),
                masked(tuple.destination, group.ipv6, group.lens.1),
            );
            let bucket = &group.buckets[bucket_of(key)];
            let from = bucket.partition_point(|entry| entry.key < key);
            let alike = bucket[from..].iter();
            let mut alike = alike.take_while(|entry| entry.key == key);
            let first = alike.find(|entry| entry.policy.selector.admits(tuple));
            if let Some(first) = first
                && found.is_none_or(|found| first.position < found.position)
            {
                found = Some(first);
            }
        }
        found.map(|found| &found.policy)
    }

    /// Returns the policy of a received packet: the one that its answers match.
    pub fn inbound(&self, tuple: &Tuple) -> Option<&Policy> {
        self.outbound(&Tuple {
            source: tuple.destination,
            destination: tuple.source,
            source_port: tuple.destination_port,
            destination_port: tuple.source_port,
            ..*tuple
        })
    }
}

/// Returns an address with the bits beyond the prefix length cleared.
fn masked(bits: u128, ipv6: bool, len: u8) -> u128 {
    Prefix { ipv6, bits, len }.masked()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix(address: [u8; 4], len: u8) -> Prefix {
        Prefix {
            ipv6: false,
            bits: Ipv4Addr::from(address).to_bits().into(),
            len,
        }
    }

    fn policy(source: Prefix, destination: Prefix, protocol: u8, slot: u32) -> Policy {
        Policy {
            selector: Selector {
                source,
                destination,
                protocol,
                source_port: 0,
                destination_port: 0,
            },
            action: Action::Protect {
                slot,
                required: true,
            },
        }
    }

    fn tuple(source: [u8; 4], destination: [u8; 4], protocol: u8) -> Tuple {
        Tuple {
            source: Ipv4Addr::from(source).to_bits().into(),
            destination: Ipv4Addr::from(destination).to_bits().into(),
            source_port: 1000,
            destination_port: 53,
            protocol,
            ipv6: false,
        }
    }

    #[test]
    fn the_first_policy_in_order_decides_and_answers_belong_to_it() {
        let [a, b] = [prefix([10, 0, 0, 0], 8), prefix([10, 2, 0, 0], 16)];
        let policies = Policies::new(vec![
            policy(a, b, 17, 1),
            policy(prefix([10, 1, 0, 0], 16), b, 0, 2),
        ]);
        let slot = |found: Option<&Policy>| found.map(|policy| policy.action);
        let is = |slot| {
            Some(Action::Protect {
                slot,
                required: true,
            })
        };
        let out = |protocol| tuple([10, 1, 0, 1], [10, 2, 0, 1], protocol);
        assert_eq!(slot(policies.outbound(&out(17))), is(1));
        assert_eq!(slot(policies.outbound(&out(6))), is(2));
        let back = tuple([10, 2, 0, 1], [10, 1, 0, 1], 6);
        assert_eq!(slot(policies.inbound(&back)), is(2));
        assert_eq!(
            slot(policies.outbound(&tuple([11, 0, 0, 1], [10, 2, 0, 1], 6))),
            None
        );
    }

    /// A random policy of a property test: both addresses, both lengths, protocol and port.
    type Drawn = (u8, u8, u8, u8, u8, u16);

    fn policy_of(drawn: Drawn) -> Policy {
        let (source, destination, a, b, protocol, port) = drawn;
        let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
        let (source, destination) = (prefix(address(source), a), prefix(address(destination), b));
        let mut policy = policy(source, destination, protocol, port.into());
        policy.selector.destination_port = port;
        policy
    }

    fn any_drawn() -> impl Strategy<Value = Drawn> {
        (0u8..4, 0u8..4, 0u8..=32, 0u8..=32, 0u8..3, 0u16..3)
    }

    proptest! {
        /// Insertions and removals in any order give the same lookups as compiling at once, and do
        /// not change earlier copies.
        #[test]
        fn changes_lead_to_what_compiling_at_once_gives(
            steps in prop::collection::vec((0u64..12, prop::option::of(any_drawn())), 0..60),
            packets in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 0u16..3), 1..20),
        ) {
            let mut wanted = std::collections::BTreeMap::new();
            let mut policies = Policies::default();
            let mut copies = Vec::new();
            for (place, step) in steps {
                let position = Position { place, ..Position::default() };
                if let Some(before) = wanted.remove(&place) {
                    let before: Policy = before;
                    policies.remove(position, &before.selector);
                }
                if let Some(step) = step {
                    policies.insert(position, policy_of(step));
                    wanted.insert(place, policy_of(step));
                }
                copies.push((policies.clone(), Policies::new(wanted.values().copied().collect())));
            }
            for (policies, compiled) in copies {
                prop_assert_eq!(policies.is_empty(), compiled.is_empty());
                for (source, destination, protocol, port) in &packets {
                    let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
                    let mut packet = tuple(address(*source), address(*destination), *protocol);
                    packet.destination_port = *port;
                    prop_assert_eq!(policies.outbound(&packet), compiled.outbound(&packet));
                }
            }
        }

        /// Compares lookups with a linear search.
        #[test]
        fn a_lookup_finds_what_a_walk_of_the_list_finds(
            policies in prop::collection::vec(any_drawn(), 0..40),
            packets in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 0u16..3), 1..20),
        ) {
            let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
            let all: Vec<Policy> = policies.into_iter().map(policy_of).collect();
            let compiled = Policies::new(all.clone());
            for (source, destination, protocol, port) in packets {
                let mut packet = tuple(address(source), address(destination), protocol);
                packet.destination_port = port;
                let matches = |policy: &&Policy| {
                    let Selector { source, destination, .. } = policy.selector;
                    let has = |prefix: Prefix, bits: u128| {
                        masked(prefix.bits, false, prefix.len) == masked(bits, false, prefix.len)
                    };
                    has(source, packet.source)
                        && has(destination, packet.destination)
                        && policy.selector.admits(&packet)
                };
                prop_assert_eq!(compiled.outbound(&packet), all.iter().find(matches));
            }
        }
    }
}
