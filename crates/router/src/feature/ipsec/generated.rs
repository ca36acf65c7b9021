//! Policies that are made for peers, out of templates: they are there as long as a pair has their selectors.

use std::collections::BTreeMap;

use dataplane::ipsec::Selector;
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
    /// What it is about: this router's side, the peer's, and the protocol.
    pub(super) about: (ike::Selector, ike::Selector, u8),
    pub(super) selector: Selector,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Generated {
    next: u64,
    all: BTreeMap<PolicyId, Made>,
}

impl Generated {
    /// The policy for a pair, made if there is none; none where its selectors are of no one family.
    pub(super) fn of(&mut self, child: &Child) -> Option<(PolicyId, Selector)> {
        let (source, destination) = child.selectors.first()?;
        let about = (*source, *destination, child.payload);
        let made = Made {
            template: child.policy,
            peer: child.peer,
            mode: child.mode,
            about,
            selector: selector(source, destination, child.payload)?,
        };
        let alike = self.all.iter().find(|(_, other)| **other == made);
        let id = match alike {
            Some((id, _)) => *id,
            None => {
                self.next += 1;
                let id = PolicyId(MADE | self.next);
                self.all.insert(id, made.clone());
                id
            }
        };
        Some((id, made.selector))
    }

    /// Whether it has this policy.
    pub(super) fn has(&self, id: PolicyId) -> bool {
        self.all.contains_key(&id)
    }

    /// Forgets a policy; whether it was one of these.
    pub(super) fn remove(&mut self, id: PolicyId) -> bool {
        self.all.remove(&id).is_some()
    }

    /// The template of a policy; another policy is its own.
    pub(super) fn template(&self, id: PolicyId) -> PolicyId {
        self.all.get(&id).map_or(id, |made| made.template)
    }

    /// All, as packets meet them.
    pub(super) fn met(&self) -> impl Iterator<Item = Met> {
        self.all.iter().map(|(id, made)| Met {
            id: *id,
            selector: made.selector,
            does: Does::Protect { required: true },
        })
    }

    /// All.
    pub(super) fn all(&self) -> impl Iterator<Item = (PolicyId, &Made)> {
        self.all.iter().map(|(id, made)| (*id, made))
    }
}
