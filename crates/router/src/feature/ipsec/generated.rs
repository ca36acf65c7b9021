//! Policies generated from templates for peers. Each exists as long as an SA pair has its
//! selectors.

use std::collections::BTreeMap;

use dataplane::ipsec::{Position, Selector};
use ike::{Child, Mode, PeerId, PolicyId};

use super::read::{Does, Met, selector};

/// Flag in the ids of generated policies.
const MADE: u64 = 1 << 63;

/// A generated policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) template: PolicyId,
    pub(super) peer: PeerId,
    pub(super) mode: Mode,
    /// Its selectors: the local and the remote one as negotiated, and the selector that packets
    /// match.
    pub(super) about: Vec<((ike::Selector, ike::Selector), Selector)>,
    /// The IP protocol of its packets; 0 is any.
    pub(super) protocol: u8,
}

/// Identity of a generated policy: equal keys share one policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    template: PolicyId,
    peer: PeerId,
    mode: Mode,
    protocol: u8,
    selectors: Vec<(ike::Selector, ike::Selector)>,
}

impl Made {
    fn key(&self) -> Key {
        Key {
            template: self.template,
            peer: self.peer,
            mode: self.mode,
            protocol: self.protocol,
            selectors: self.about.iter().map(|(selectors, _)| *selectors).collect(),
        }
    }
}

/// All generated policies.
#[derive(Debug, Default)]
pub(super) struct Generated {
    next: u64,
    all: BTreeMap<PolicyId, Made>,
    by_key: BTreeMap<Key, PolicyId>,
}

impl Generated {
    /// Returns the policy of a pair and generates it if necessary. Returns `None` if no local and
    /// remote selector are of one family.
    pub(super) fn of(&mut self, child: &Child) -> Option<PolicyId> {
        let met = |(source, destination): &(_, _)| {
            let met = selector(source, destination, child.payload)?;
            Some(((*source, *destination), met))
        };
        let made = Made {
            template: child.policy,
            peer: child.peer,
            mode: child.mode,
            about: child.selectors.iter().filter_map(met).collect(),
            protocol: child.payload,
        };
        let key = made.key();
        match self.by_key.get(&key) {
            Some(id) => Some(*id),
            None if made.about.is_empty() => None,
            None => {
                self.next += 1;
                let id = PolicyId(MADE | self.next);
                self.by_key.insert(key, id);
                self.all.insert(id, made);
                Some(id)
            }
        }
    }

    /// Whether `id` is a generated policy.
    pub(super) fn has(&self, id: PolicyId) -> bool {
        self.all.contains_key(&id)
    }

    /// Removes a generated policy; returns false if `id` is none.
    pub(super) fn remove(&mut self, id: PolicyId) -> bool {
        let gone = self.all.remove(&id);
        if let Some(made) = &gone {
            self.by_key.remove(&made.key());
        }
        gone.is_some()
    }

    /// Returns the template of a generated policy, or `id` itself for other policies.
    pub(super) fn template(&self, id: PolicyId) -> PolicyId {
        self.all.get(&id).map_or(id, |made| made.template)
    }

    /// Returns the entries of a policy that packets match, one for each pair of selectors.
    /// Generated policies come before all others.
    pub(super) fn met(&self, id: PolicyId) -> impl Iterator<Item = Met> {
        let about = self.all.get(&id).into_iter().flat_map(|made| &made.about);
        (0..).zip(about).map(move |(part, (_, selector))| Met {
            position: Position {
                section: 0,
                place: id.0,
                part,
            },
            selector: *selector,
            does: Does::Protect { required: true },
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (PolicyId, &Made)> {
        self.all.iter().map(|(id, made)| (*id, made))
    }
}
