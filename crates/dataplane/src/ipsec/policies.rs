//! Policies: which packets IPsec protects. Compiled, immutable, a part of the snapshot.
//!
//! The first policy in order that matches a packet decides (RouterOS: "policies are matched from top to bottom").
//! Thousands are meant: those whose prefixes are of the same lengths stand in one sorted list, so that a lookup costs
//! one binary search for each pair of lengths in use.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::packet::Tuple;
use crate::snapshot::Prefix;

/// Which packets a policy is about. Both prefixes are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The source prefix.
    pub source: Prefix,
    /// The destination prefix.
    pub destination: Prefix,
    /// The protocol above IP; 0 is any.
    pub protocol: u8,
    /// The source port; 0 is any.
    pub source_port: u16,
    /// The destination port; 0 is any.
    pub destination_port: u16,
}

impl Selector {
    /// Whether a packet between these has the right protocol and ports; its addresses match.
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

/// What happens to the packets of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They pass as they are.
    Pass,
    /// They are discarded.
    Discard,
    /// They are protected by the associations in this slot (see [`super::Associations`]).
    Protect {
        /// The slot.
        slot: u32,
        /// Whether they may not pass unprotected while there is no association (`level=use` lets them).
        required: bool,
    },
}

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which packets leave by it. What comes in by it goes the other way.
    pub selector: Selector,
    /// What happens to them.
    pub action: Action,
}

/// The policies whose prefixes have these lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    ipv6: bool,
    lens: (u8, u8),
    /// The first of them.
    first: u32,
    /// By both prefixes; of those that are alike in order.
    policies: Vec<((u128, u128), u32)>,
}

/// All policies, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    all: Vec<Policy>,
    /// In the order of their first.
    groups: Vec<Group>,
}

impl Policies {
    /// Compiles policies that are given in order.
    pub fn new(all: Vec<Policy>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (number, policy) in (0..).zip(&all) {
            let Selector {
                source,
                destination,
                ..
            } = policy.selector;
            let (ipv6, lens) = (source.ipv6, (source.len, destination.len));
            let key = (
                masked(source.bits, ipv6, lens.0),
                masked(destination.bits, ipv6, lens.1),
            );
            let is_of = |group: &Group| (group.ipv6, group.lens) == (ipv6, lens);
            match groups.iter_mut().find(|group| is_of(group)) {
                Some(group) => group.policies.push((key, number)),
                None => groups.push(Group {
                    ipv6,
                    lens,
                    first: number,
                    policies: vec![(key, number)],
                }),
            }
        }
        for group in &mut groups {
            group.policies.sort_unstable();
        }
        Self { all, groups }
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All, in order.
    pub fn all(&self) -> &[Policy] {
        &self.all
    }

    /// The policy whose associations are in this slot.
    pub fn of_slot(&self, slot: u32) -> Option<&Policy> {
        let has = |policy: &&Policy| matches!(policy.action, Action::Protect { slot: of, .. } if of == slot);
        self.all.iter().find(has)
    }

    /// The policy of a packet that leaves.
    pub fn outbound(&self, tuple: &Tuple) -> Option<&Policy> {
        let mut found: Option<u32> = None;
        for group in &self.groups {
            if found.is_some_and(|found| found < group.first) {
                break;
            }
            if group.ipv6 != tuple.ipv6 {
                continue;
            }
            let key = (
                masked(tuple.source, group.ipv6, group.lens.0),
                masked(tuple.destination, group.ipv6, group.lens.1),
            );
            let from = group.policies.partition_point(|(of, _)| *of < key);
            let alike = group.policies[from..].iter();
            let mut alike = alike.take_while(|(of, _)| *of == key);
            let first = alike.find(|(_, number)| self.all[*number as usize].selector.admits(tuple));
            if let Some((_, number)) = first {
                found = Some(found.map_or(*number, |found| found.min(*number)));
            }
        }
        found.map(|found| &self.all[found as usize])
    }

    /// The policy of a packet that comes in: that of its answers.
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

/// The bits of an address that a prefix of this length has.
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

    proptest! {
        /// Against a plain walk of the list.
        #[test]
        fn a_lookup_finds_what_a_walk_of_the_list_finds(
            policies in prop::collection::vec((0u8..4, 0u8..4, 0u8..=32, 0u8..=32, 0u8..3, 0u16..3), 0..40),
            packets in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 0u16..3), 1..20),
        ) {
            let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
            let made = policies.iter().map(|(source, destination, a, b, protocol, port)| {
                let mut one = policy(prefix(address(*source), *a), prefix(address(*destination), *b), *protocol, 0);
                one.selector.destination_port = *port;
                one
            });
            let all: Vec<Policy> = made.collect();
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
