//! Policies that are made for peers, out of templates: they are there as long as a pair has their selectors.

use std::collections::BTreeMap;

use dataplane::ipsec::{Position, Selector};
use ike::{Child, Mode, PeerId, PolicyId};

use super::read::{Does, Met, selector};

/// What tells the numbers of these policies from all others.
const MADE: u64 = 1 << 63;

/// A policy that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) template: PolicyId,
    pub(super) peer: PeerId,
    pub(super) mode: Mode,
    /// What it is about: this router's side and the peer's, and as packets meet it.
    pub(super) about: Vec<((ike::Selector, ike::Selector), Selector)>,
    /// The protocol of that; 0 is any.
    pub(super) protocol: u8,
}

/// What tells one made policy from another.
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

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Generated {
    next: u64,
    all: BTreeMap<PolicyId, Made>,
    by_key: BTreeMap<Key, PolicyId>,
}

impl Generated {
    /// The policy for a pair, made if there is none; none where no selectors of it are of one family.
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

    /// Whether it has this policy.
    pub(super) fn has(&self, id: PolicyId) -> bool {
        self.all.contains_key(&id)
    }

    /// Forgets a policy; whether it was one of these.
    pub(super) fn remove(&mut self, id: PolicyId) -> bool {
        let gone = self.all.remove(&id);
        if let Some(made) = &gone {
            self.by_key.remove(&made.key());
        }
        gone.is_some()
    }

    /// The template of a policy; another policy is its own.
    pub(super) fn template(&self, id: PolicyId) -> PolicyId {
        self.all.get(&id).map_or(id, |made| made.template)
    }

    /// A policy as packets meet it: once for each pair of selectors. They come before all others.
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

    /// All.
    pub(super) fn all(&self) -> impl Iterator<Item = (PolicyId, &Made)> {
        self.all.iter().map(|(id, made)| (*id, made))
    }
}
