//! IPsec policies, which select the packets to protect; a part of the snapshot.
//!
//! The first policy in order that matches a packet decides (RouterOS: "policies are matched from
//! top to bottom"). Policies with equal prefix lengths form a group, in which both prefixes select
//! a bucket of few policies: a lookup costs one binary search for each pair of lengths in use. A
//! change of a policy copies its bucket; copies of [`Policies`] share the other buckets. Packets whose addresses no
//! policy has need no search (`coverage.rs`).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::coverage::Coverage;
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
    /// Returns true if a protocol or port is set.
    const fn has_service(&self) -> bool {
        self.protocol != 0 || self.source_port != 0 || self.destination_port != 0
    }

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

/// A policy. The action precedes the selector in memory, so that a lookup by addresses reads one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Policy {
    /// The action for these packets.
    pub action: Action,
    /// The packets for transmission. Received packets match with source and destination exchanged.
    pub selector: Selector,
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

/// Source and destination address, or the prefixes of a policy with host bits cleared. Keys are compared by address
/// family: [`Ipv4Key`] in one word.
pub(crate) trait Key: Copy + Ord {
    /// The family of both addresses.
    const IPV6: bool;

    /// Returns the key of both addresses; IPv4 addresses are in the low 32 bits.
    fn new(source: u128, destination: u128) -> Self;

    /// Returns the addresses of a packet, from its network header on; `None` if the header is not complete.
    fn of(packet: &[u8]) -> Option<Self>;

    /// Returns the key with source and destination exchanged.
    fn reversed(self) -> Self;

    /// Returns false if no policy has these addresses.
    fn may_be_in(self, policies: &Policies) -> bool;

    /// Returns the bits that the prefixes of a group compare.
    fn masked(self, masks: &Masks) -> Self;

    /// Returns the key of an entry.
    fn of_entry(entry: &Entry) -> Self;

    /// Returns the bucket index.
    fn bucket(self) -> usize;
}

/// An IPv4 source in the upper and a destination in the lower half.
pub(crate) type Ipv4Key = u64;

/// An IPv6 source and destination.
pub(crate) type Ipv6Key = (u128, u128);

impl Key for Ipv4Key {
    const IPV6: bool = false;

    #[inline(always)]
    fn new(source: u128, destination: u128) -> Self {
        (source as Self) << 32 | destination as Self
    }

    #[inline(always)]
    fn of(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<20>()?;
        Some(Self::from_be_bytes(*header[12..].first_chunk::<8>()?))
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        self.rotate_left(32)
    }

    #[inline(always)]
    fn may_be_in(self, policies: &Policies) -> bool {
        policies.may_have4((self >> 32) as u32, self as u32)
    }

    #[inline(always)]
    fn masked(self, masks: &Masks) -> Self {
        self & masks.ipv4
    }

    #[inline(always)]
    fn of_entry(entry: &Entry) -> Self {
        entry.ipv4
    }

    #[inline(always)]
    fn bucket(self) -> usize {
        bucket_of(self ^ self >> 29)
    }
}

impl Key for Ipv6Key {
    const IPV6: bool = true;

    #[inline(always)]
    fn new(source: u128, destination: u128) -> Self {
        (source, destination)
    }

    #[inline(always)]
    fn of(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<40>()?;
        let source = header[8..].first_chunk::<16>()?;
        let destination = header[24..].first_chunk::<16>()?;
        Some((
            u128::from_be_bytes(*source),
            u128::from_be_bytes(*destination),
        ))
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        (self.1, self.0)
    }

    #[inline(always)]
    fn may_be_in(self, policies: &Policies) -> bool {
        policies.may_have6(self.0, self.1)
    }

    #[inline(always)]
    fn masked(self, masks: &Masks) -> Self {
        (self.0 & masks.ipv6.0, self.1 & masks.ipv6.1)
    }

    #[inline(always)]
    fn of_entry(entry: &Entry) -> Self {
        entry.ipv6
    }

    #[inline(always)]
    fn bucket(self) -> usize {
        let mixed = self.0 ^ self.1.rotate_left(61);
        bucket_of(mixed as u64 ^ (mixed >> 64) as u64)
    }
}

/// Returns the bucket index of a folded key.
#[inline(always)]
const fn bucket_of(folded: u64) -> usize {
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// The bits that the prefixes of a group compare, by family; those of the other family are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Masks {
    ipv4: Ipv4Key,
    ipv6: Ipv6Key,
}

impl Masks {
    fn new(is_ipv6: bool, lens: (u8, u8)) -> Self {
        let [source, destination] = [lens.0, lens.1].map(|len| masked(u128::MAX, is_ipv6, len));
        match is_ipv6 {
            true => Self {
                ipv4: 0,
                ipv6: (source, destination),
            },
            false => Self {
                ipv4: Ipv4Key::new(source & IPV4_BITS, destination & IPV4_BITS),
                ipv6: (0, 0),
            },
        }
    }
}

/// The bits of an IPv4 address.
const IPV4_BITS: u128 = u32::MAX as u128;

/// A policy in its bucket. A lookup of an IPv4 packet reads the first fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Entry {
    /// The key of an IPv4 policy; 0 for IPv6.
    ipv4: Ipv4Key,
    policy: Policy,
    position: Position,
    /// The key of an IPv6 policy; zeros for IPv4.
    ipv6: Ipv6Key,
}

impl Entry {
    fn new(position: Position, policy: Policy) -> Self {
        let Selector {
            source,
            destination,
            ..
        } = policy.selector;
        let key = (source.masked(), destination.masked());
        let (ipv4, ipv6) = match source.ipv6 {
            true => (0, key),
            false => (Ipv4Key::new(key.0, key.1), (0, 0)),
        };
        Self {
            ipv4,
            policy,
            position,
            ipv6,
        }
    }

    fn key(&self) -> (Ipv4Key, Ipv6Key) {
        (self.ipv4, self.ipv6)
    }

    fn bucket(&self) -> usize {
        match self.policy.selector.source.ipv6 {
            true => self.ipv6.bucket(),
            false => self.ipv4.bucket(),
        }
    }
}

/// The policies of one bucket, sorted by key and position.
type Bucket = [Entry];

/// The policies with these prefix lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    ipv6: bool,
    lens: (u8, u8),
    masks: Masks,
    /// Lower bound of the positions in this group.
    first: Position,
    len: usize,
    /// The [`BUCKETS`] buckets, indexed by [`Key::bucket`].
    buckets: Arc<[Arc<Bucket>]>,
}

impl Group {
    fn new(ipv6: bool, lens: (u8, u8), first: Position) -> Self {
        let empty: Arc<Bucket> = Arc::new([]);
        Self {
            ipv6,
            lens,
            masks: Masks::new(ipv6, lens),
            first,
            len: 0,
            buckets: (0..BUCKETS).map(|_| Arc::clone(&empty)).collect(),
        }
    }

    /// Replaces a bucket by an edited copy.
    fn edit(&mut self, bucket: usize, edit: impl FnOnce(&mut Vec<Entry>)) {
        let bucket = &mut Arc::make_mut(&mut self.buckets)[bucket % BUCKETS];
        let mut entries = bucket.to_vec();
        edit(&mut entries);
        *bucket = entries.into();
    }

    /// Returns the first policy in order that matches these addresses and satisfies `admits`.
    #[inline(always)]
    fn find<K: Key>(&self, addresses: K, admits: impl Fn(&Selector) -> bool) -> Option<&Entry> {
        let key = addresses.masked(&self.masks);
        let is = |entry: &Entry| K::of_entry(entry) == key;
        let bucket = &*self.buckets[key.bucket()];
        let from = match bucket {
            [] => return None,
            [one] => usize::from(!is(one)),
            bucket => bucket.partition_point(|entry| K::of_entry(entry) < key),
        };
        let mut alike = bucket.get(from..)?.iter();
        alike
            .find(|entry| !is(entry) || admits(&entry.policy.selector))
            .filter(|entry| is(entry))
    }
}

/// Returns the family and prefix lengths of a selector, which name its group.
const fn group_of(selector: &Selector) -> (bool, (u8, u8)) {
    let Selector {
        source,
        destination,
        ..
    } = selector;
    (source.ipv6, (source.len, destination.len))
}

/// All policies, compiled for lookups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// Groups, sorted by `Group::first`.
    groups: Vec<Group>,
    /// Number of policies that match protocols or ports.
    with_services: usize,
    /// The sources and the destinations of all policies.
    sources: Arc<Coverage>,
    destinations: Arc<Coverage>,
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
        let of = group_of(&policy.selector);
        let is_of = |group: &Group| (group.ipv6, group.lens) == of;
        let at = self.groups.iter().position(is_of).unwrap_or_else(|| {
            self.groups.push(Group::new(of.0, of.1, position));
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.len += 1;
        let entry = Entry::new(position, policy);
        group.edit(entry.bucket(), |bucket| {
            let wanted = (entry.key(), position);
            let at = bucket.partition_point(|entry| (entry.key(), entry.position) < wanted);
            bucket.insert(at, entry);
        });
        group.first = group.first.min(position);
        self.with_services += usize::from(policy.selector.has_service());
        Arc::make_mut(&mut self.sources).add(policy.selector.source);
        Arc::make_mut(&mut self.destinations).add(policy.selector.destination);
        self.groups.sort_by_key(|group| group.first);
    }

    /// Removes the policy at a position; `selector` is that of the policy.
    pub fn remove(&mut self, position: Position, selector: &Selector) {
        let of = group_of(selector);
        let is_of = |group: &Group| (group.ipv6, group.lens) == of;
        let Some(at) = self.groups.iter().position(is_of) else {
            return;
        };
        let group = &mut self.groups[at];
        let wanted = Entry::new(
            position,
            Policy {
                selector: *selector,
                action: Action::Pass,
            },
        );
        let mut removed = 0;
        group.edit(wanted.bucket(), |bucket| {
            removed = bucket.len();
            let is_wanted =
                |entry: &Entry| entry.key() == wanted.key() && entry.position == position;
            bucket.retain(|entry| !is_wanted(entry));
            removed -= bucket.len();
        });
        group.len -= removed;
        if group.len == 0 {
            self.groups.remove(at);
        }
        if selector.has_service() {
            self.with_services -= removed;
        }
        for _ in 0..removed {
            Arc::make_mut(&mut self.sources).remove(selector.source);
            Arc::make_mut(&mut self.destinations).remove(selector.destination);
        }
    }

    /// Returns false if no policy has an IPv4 packet with these addresses for transmission.
    #[inline(always)]
    pub(crate) fn may_have4(&self, source: u32, destination: u32) -> bool {
        self.may_go_to4(destination) && self.sources.may_have4(source)
    }

    /// Returns false if no policy has an IPv4 packet to this address for transmission.
    #[inline(always)]
    pub(crate) fn may_go_to4(&self, destination: u32) -> bool {
        self.destinations.may_have4(destination)
    }

    /// Returns false if no policy has an IPv6 packet with these addresses for transmission.
    #[inline(always)]
    pub(crate) fn may_have6(&self, source: u128, destination: u128) -> bool {
        self.may_go_to6(destination) && self.sources.may_have6(source)
    }

    /// Returns false if no policy has an IPv6 packet to this address for transmission.
    #[inline(always)]
    pub(crate) fn may_go_to6(&self, destination: u128) -> bool {
        self.destinations.may_have6(destination)
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

    /// Returns true if addresses alone select the policy of every packet.
    #[inline(always)]
    pub(crate) const fn compare_addresses_only(&self) -> bool {
        self.with_services == 0
    }

    /// Returns the policy of a packet for transmission.
    #[inline]
    pub fn outbound(&self, tuple: &Tuple) -> Option<&Policy> {
        let (source, destination) = (tuple.source, tuple.destination);
        match (tuple.ipv6, self.compare_addresses_only()) {
            (false, true) => self.outbound_by_addresses(Ipv4Key::new(source, destination)),
            (true, true) => self.outbound_by_addresses(Ipv6Key::new(source, destination)),
            (_, false) => self.outbound_by_services(tuple),
        }
    }

    /// Returns the policy of a packet for transmission, where protocols or ports count.
    #[inline(never)]
    fn outbound_by_services(&self, tuple: &Tuple) -> Option<&Policy> {
        let admits = |selector: &Selector| selector.admits(tuple);
        let (source, destination) = (tuple.source, tuple.destination);
        match tuple.ipv6 {
            true => self.find(Ipv6Key::new(source, destination), admits),
            false => self.find(Ipv4Key::new(source, destination), admits),
        }
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

    /// Returns the policy of a packet for transmission by its addresses, if [`Self::compare_addresses_only`].
    #[inline(always)]
    pub(crate) fn outbound_by_addresses<K: Key>(&self, addresses: K) -> Option<&Policy> {
        self.find(addresses, |_| true)
    }

    #[inline(always)]
    fn find<K: Key>(&self, addresses: K, admits: impl Fn(&Selector) -> bool) -> Option<&Policy> {
        if !addresses.may_be_in(self) {
            return None;
        }
        let mut found: Option<&Entry> = None;
        for group in &self.groups {
            if found.is_some_and(|found| found.position < group.first) {
                break;
            }
            if group.ipv6 != K::IPV6 {
                continue;
            }
            if let Some(first) = group.find(addresses, &admits)
                && found.is_none_or(|found| first.position < found.position)
            {
                found = Some(first);
            }
        }
        found.map(|found| &found.policy)
    }
}

/// Returns an address with the bits beyond the prefix length cleared.
fn masked(bits: u128, ipv6: bool, len: u8) -> u128 {
    Prefix { ipv6, bits, len }.masked()
}

#[cfg(test)]
mod tests;
