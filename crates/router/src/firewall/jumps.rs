//! Graph of jumps between chains: finds circles and jumps that exceed the maximum depth.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::rule::DEPTH;

use crate::intent::{ItemId, Name};

/// A jump rule: its item, its chain, and the target chain.
pub(super) type Jump<'a> = (ItemId, &'a Name, &'a Name);

/// Returns the jumps that close a circle or exceed the maximum depth. Jumps are added in order: the jump that closes a
/// circle is invalid, the earlier ones are valid.
pub(super) fn endless<'a>(jumps: impl Iterator<Item = Jump<'a>>) -> BTreeSet<ItemId> {
    let mut graph = Graph::default();
    let mut refused = BTreeSet::new();
    for (item, from, to) in jumps {
        if !graph.add(from, to) {
            refused.insert(item);
        }
    }
    refused
}

/// Returns the chains that packets reach from these chains.
pub(super) fn reached<'a>(from: &[&str], jumps: impl Iterator<Item = Jump<'a>>) -> BTreeSet<Name> {
    let mut graph = BTreeMap::<&str, BTreeSet<&Name>>::new();
    for (_, chain, to) in jumps {
        graph.entry(chain).or_default().insert(to);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = from.to_vec();
    while let Some(chain) = open.pop() {
        for to in graph.get(chain).into_iter().flatten() {
            if found.insert(Name::clone(to)) {
                open.push(to);
            }
        }
    }
    found
}

/// Chains and their targets, without circles.
#[derive(Debug, Default)]
struct Graph<'a> {
    below: BTreeMap<&'a str, BTreeSet<&'a str>>,
    above: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Graph<'a> {
    /// Adds a jump, unless it closes a circle or makes a path too long.
    fn add(&mut self, from: &'a str, to: &'a str) -> bool {
        if self.below.get(from).is_some_and(|all| all.contains(to)) {
            return true;
        }
        if from == to || leads(&self.below, to, from) {
            return false;
        }
        if longest(&self.above, from) + 1 + longest(&self.below, to) > DEPTH {
            return false;
        }
        self.below.entry(from).or_default().insert(to);
        self.above.entry(to).or_default().insert(from);
        true
    }
}

type JumpGraph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn leads(ways: &JumpGraph<'_>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(chain) = open.pop() {
        for next in ways.get(chain).into_iter().flatten() {
            if *next == to {
                return true;
            }
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    false
}

/// Returns the number of jumps on the longest path from a chain.
fn longest(ways: &JumpGraph<'_>, from: &str) -> usize {
    // No path is longer than `DEPTH`: `add` refuses longer ones.
    let mut level: BTreeSet<&str> = BTreeSet::from([from]);
    for steps in 0..=DEPTH {
        let next = level.iter().filter_map(|chain| ways.get(chain)).flatten();
        let next: BTreeSet<&str> = next.copied().collect();
        if next.is_empty() {
            return steps;
        }
        level = next;
    }
    DEPTH + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(jumps: &[(&str, &str)]) -> Vec<ItemId> {
        let names: Vec<_> = jumps
            .iter()
            .map(|(from, to)| (Name::from(*from), Name::from(*to)))
            .collect();
        let jumps = names.iter().zip(0..);
        let jumps = jumps.map(|((from, to), item)| (item, from, to));
        endless(jumps).into_iter().collect()
    }

    #[test]
    fn the_jump_that_closes_a_circle_is_refused() {
        assert_eq!(refused(&[("input", "a"), ("a", "b"), ("input", "b")]), []);
        assert_eq!(refused(&[("input", "a"), ("a", "b"), ("b", "a")]), [2]);
        assert_eq!(refused(&[("a", "a")]), [0]);
    }

    #[test]
    fn what_goes_deeper_than_chains_nest_is_refused() {
        let names: Vec<_> = (0..DEPTH + 3).map(|depth| format!("c{depth}")).collect();
        let jumps: Vec<_> = names.windows(2).map(|w| (&*w[0], &*w[1])).collect();

        assert_eq!(refused(&jumps), [DEPTH as u64]);
    }
}
