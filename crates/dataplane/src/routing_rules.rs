//! The rules of `/routing/rule`, and the lookup of those that match a packet.
//!
//! Rules with equal conditions (which prefixes of which lengths, interface, mark) form a group, in which the values of
//! a packet select the rules: a lookup costs one binary search for each group.

use core::ops::Deref;

use frame::InterfaceId;
use smallvec::SmallVec;

use crate::prefix::Prefix;

/// The properties of a packet that routing rules match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// The ingress interface; none for the router's own packets.
    pub(crate) ingress: InterfaceId,
    pub(crate) source: Address,
    pub(crate) destination: Address,
    /// The routing mark: a table's number, or 0 for none.
    pub(crate) mark: u32,
}

impl Flow {
    #[inline(always)]
    pub(crate) const fn is_ipv6(&self) -> bool {
        matches!(self.destination, Address::V6(_))
    }
}

/// An IPv4 or IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    V4(u32),
    V6(u128),
}

impl Address {
    /// Returns the address with these bits.
    pub(crate) fn of(bits: u128, ipv6: bool) -> Self {
        match ipv6 {
            true => Self::V6(bits),
            false => Self::V4(bits as u32),
        }
    }

    pub(crate) fn bits(self) -> u128 {
        match self {
            Self::V4(bits) => u128::from(bits),
            Self::V6(bits) => bits,
        }
    }
}

/// A compiled rule of `/routing/rule`. All conditions that are set must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingRule {
    /// Source prefix, as address bits (IPv4 in the low 32) and length.
    pub source: Option<Prefix>,
    /// Destination prefix, as address bits and length.
    pub destination: Option<Prefix>,
    /// Ingress interface.
    pub interface: Option<InterfaceId>,
    /// Routing mark, by number.
    pub mark: Option<u32>,
    /// The action.
    pub action: RuleAction,
    /// Number of the routing table for lookups.
    pub table: u16,
    /// Routes with a shorter prefix do not count (`min-prefix`).
    pub min_prefix: Option<u8>,
}

/// The action of a routing rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Look up the table; without a route, continue with the next rule.
    Lookup,
    /// Look up the table, and no other.
    LookupOnly,
    /// Drop silently.
    Drop,
    /// Drop, and send an ICMP error.
    Unreachable,
}

/// Routing rules in order, with an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingRules {
    rules: Vec<RoutingRule>,
    groups: Vec<Group>,
}

impl Deref for RoutingRules {
    type Target = [RoutingRule];

    #[inline(always)]
    fn deref(&self) -> &[RoutingRule] {
        &self.rules
    }
}

impl FromIterator<RoutingRule> for RoutingRules {
    fn from_iter<I: IntoIterator<Item = RoutingRule>>(rules: I) -> Self {
        let rules: Vec<_> = rules.into_iter().collect();
        let mut groups: Vec<Group> = Vec::new();
        for (index, rule) in (0..).zip(&rules) {
            let conditions = Conditions::of(rule);
            let entry = (Values::of_rule(rule), index);
            match groups
                .iter_mut()
                .find(|group| group.conditions == conditions)
            {
                Some(group) => group.entries.push(entry),
                None => groups.push(Group {
                    conditions,
                    entries: vec![entry],
                }),
            }
        }
        for group in &mut groups {
            group.entries.sort_unstable();
        }
        Self { rules, groups }
    }
}

impl RoutingRules {
    /// Returns the rules that match a packet, in order.
    #[inline]
    pub(crate) fn matching(&self, flow: &Flow) -> impl Iterator<Item = &RoutingRule> {
        let mut found: SmallVec<[u32; 8]> = SmallVec::new();
        for group in &self.groups {
            found.extend(group.matching(flow));
        }
        if self.groups.len() > 1 {
            found.sort_unstable();
        }
        found
            .into_iter()
            .filter_map(|index| self.rules.get(index as usize))
    }
}

/// The conditions that the rules of a group set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conditions {
    /// Family (true for IPv6) and length of the prefix.
    source: Option<(bool, u8)>,
    destination: Option<(bool, u8)>,
    interface: bool,
    mark: bool,
}

impl Conditions {
    fn of(rule: &RoutingRule) -> Self {
        let of = |prefix: Option<Prefix>| prefix.map(|prefix| (prefix.ipv6, prefix.len));
        Self {
            source: of(rule.source),
            destination: of(rule.destination),
            interface: rule.interface.is_some(),
            mark: rule.mark.is_some(),
        }
    }
}

/// The values that the rules of a group compare; 0 where they set no condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Values {
    source: u128,
    destination: u128,
    interface: u32,
    mark: u32,
}

impl Values {
    fn of_rule(rule: &RoutingRule) -> Self {
        let of = |prefix: &Option<Prefix>| prefix.map_or(0, |prefix| prefix.masked());
        Self {
            source: of(&rule.source),
            destination: of(&rule.destination),
            interface: rule.interface.map_or(0, |interface| interface.0),
            mark: rule.mark.unwrap_or(0),
        }
    }

    /// Returns the values of a packet; `None` if an address is of another family.
    #[inline]
    fn of_flow(flow: &Flow, conditions: &Conditions) -> Option<Self> {
        let of = |address: Address, prefix: Option<(bool, u8)>| {
            let Some((ipv6, len)) = prefix else {
                return Some(0);
            };
            let bits = address.bits();
            let address = Prefix { ipv6, bits, len };
            (ipv6 == flow.is_ipv6()).then(|| address.masked())
        };
        Some(Self {
            source: of(flow.source, conditions.source)?,
            destination: of(flow.destination, conditions.destination)?,
            interface: if conditions.interface {
                flow.ingress.0
            } else {
                0
            },
            mark: if conditions.mark { flow.mark } else { 0 },
        })
    }
}

/// The rules with equal conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    conditions: Conditions,
    /// Values and index of each rule, sorted.
    entries: Vec<(Values, u32)>,
}

impl Group {
    /// Returns the indices of the rules that match a packet, in order.
    #[inline]
    fn matching(&self, flow: &Flow) -> impl Iterator<Item = u32> {
        let values = Values::of_flow(flow, &self.conditions);
        let entries = values.map_or(&[][..], |values| {
            let begin = self.entries.partition_point(|entry| entry.0 < values);
            let entries = &self.entries[begin..];
            // Few rules have equal values.
            let count = entries.iter().take_while(|entry| entry.0 == values).count();
            &entries[..count]
        });
        entries.iter().map(|(_, index)| *index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if all conditions of a rule hold.
    fn holds(rule: &RoutingRule, flow: &Flow) -> bool {
        let is_in = |address: Address, prefix: Prefix| {
            let width = if prefix.ipv6 { 128 } else { 32 };
            let host = width - u32::from(prefix.len);
            let differing = address.bits() ^ prefix.bits;
            prefix.ipv6 == flow.is_ipv6() && differing.checked_shr(host).unwrap_or(0) == 0
        };
        rule.source.is_none_or(|prefix| is_in(flow.source, prefix))
            && rule
                .destination
                .is_none_or(|prefix| is_in(flow.destination, prefix))
            && rule
                .interface
                .is_none_or(|interface| interface == flow.ingress)
            && rule.mark.is_none_or(|mark| mark == flow.mark)
    }

    #[test]
    fn the_index_finds_what_a_scan_of_all_rules_finds() {
        let mut seed = 7_u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        let prefix = |below: &mut dyn FnMut(u64) -> u64| {
            let ipv6 = below(2) == 1;
            let lens = if ipv6 {
                [0, 64, 127, 128]
            } else {
                [0, 8, 31, 32]
            };
            (below(3) > 0).then(|| Prefix {
                ipv6,
                bits: below(4).into(),
                len: lens[below(4) as usize],
            })
        };
        for count in [0, 1, 5, 60] {
            let rules = (0..count).map(|table| RoutingRule {
                source: prefix(&mut below),
                destination: prefix(&mut below),
                interface: (below(2) == 1).then(|| InterfaceId(below(3) as u32)),
                mark: (below(2) == 1).then(|| below(2) as u32),
                action: RuleAction::Lookup,
                table,
                min_prefix: None,
            });
            let rules: RoutingRules = rules.collect::<Vec<_>>().into_iter().collect();
            for _ in 0..2_000 {
                let ipv6 = below(2) == 1;
                let flow = Flow {
                    ingress: InterfaceId(below(3) as u32),
                    source: Address::of(below(4).into(), ipv6),
                    destination: Address::of(below(4).into(), ipv6),
                    mark: below(2) as u32,
                };
                let scanned: Vec<_> = rules.iter().filter(|rule| holds(rule, &flow)).collect();
                assert_eq!(
                    rules.matching(&flow).collect::<Vec<_>>(),
                    scanned,
                    "{flow:?}"
                );
            }
        }
    }
}
