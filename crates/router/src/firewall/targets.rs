//! Slots of translations in a snapshot: a rule keeps its slot, so that adding another rule does not recompile it.

use std::sync::Arc;

use dataplane::nat::{Action, Side, Target};

/// Content of a free slot.
const NONE: Target = Target {
    side: Side::Source,
    action: Action::Own,
    addresses: None,
    ports: None,
    randomise: false,
};

/// All translations, by slot.
#[derive(Debug, Default)]
pub struct Targets {
    list: Vec<Target>,
    free: Vec<u32>,
    /// The translations of the last snapshot; `None` after a change.
    shared: Option<Arc<[Target]>>,
}

impl Targets {
    /// Assigns a slot to a new rule.
    pub fn give(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.list.push(NONE);
            self.shared = None;
            self.list.len() as u32 - 1
        })
    }

    /// Releases the slot of a removed rule.
    pub fn take_back(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Stores a translation in its slot.
    pub fn set(&mut self, place: u32, target: Target) {
        if let Some(slot) = self.list.get_mut(place as usize)
            && *slot != target
        {
            *slot = target;
            self.shared = None;
        }
    }

    /// Returns all translations for a snapshot.
    pub fn shared(&mut self) -> Arc<[Target]> {
        let list = &self.list;
        let shared = self.shared.get_or_insert_with(|| list.as_slice().into());
        Arc::clone(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_slot_is_shared_even_if_its_target_is_the_default() {
        let mut targets = Targets::default();
        assert!(targets.shared().is_empty());

        let place = targets.give();
        targets.set(place, NONE);

        assert_eq!(targets.shared()[..], [NONE]);
    }
}
