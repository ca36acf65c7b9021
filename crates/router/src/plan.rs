//! Computes the steps from a running state to a desired state, as a pure function, so that a change affects nothing
//! else.

use std::collections::BTreeMap;

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a, K, V> {
    /// Remove this entry.
    Remove(&'a K, &'a V),
    /// Add this entry.
    Add(&'a K, &'a V),
    /// Replace the first value by the second.
    Change(&'a K, &'a V, &'a V),
}

/// Returns the steps from `running` to `wanted`, and nothing else.
///
/// Removals come first, so that their name, address or number is free again. The plan omits unchanged entries: their
/// sessions and counters continue.
pub fn plan<'a, K: Ord, V: PartialEq>(
    running: &'a BTreeMap<K, V>,
    wanted: &'a BTreeMap<K, V>,
) -> Vec<Step<'a, K, V>> {
    let gone = running.iter().filter(|(key, _)| !wanted.contains_key(key));
    let removed = gone.map(|(key, value)| Step::Remove(key, value));
    let kept = wanted
        .iter()
        .filter_map(|(key, value)| match running.get(key) {
            None => Some(Step::Add(key, value)),
            Some(old) if old != value => Some(Step::Change(key, old, value)),
            Some(_) => None,
        });
    removed.chain(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Rng;

    fn carry_out(state: &mut BTreeMap<u8, u8>, steps: &[Step<'_, u8, u8>]) {
        for step in steps {
            match step {
                Step::Remove(key, value) => assert_eq!(state.remove(key).as_ref(), Some(*value)),
                Step::Add(key, value) => assert_eq!(state.insert(**key, **value), None),
                Step::Change(key, old, new) => {
                    assert_ne!(old, new);
                    assert_eq!(state.insert(**key, **new).as_ref(), Some(*old));
                }
            }
        }
    }

    #[test]
    fn a_plan_leads_from_any_state_to_any_other() {
        let mut rng = Rng::seeded(1);
        for _ in 0..1_000 {
            let mut any = || -> BTreeMap<u8, u8> {
                (0..rng.below(12))
                    .map(|_| (rng.below(16) as u8, rng.below(3) as u8))
                    .collect()
            };
            let (running, wanted) = (any(), any());
            let mut state = running.clone();

            carry_out(&mut state, &plan(&running, &wanted));

            assert_eq!(state, wanted);
            assert!(plan(&wanted, &wanted).is_empty());
        }
    }

    #[test]
    fn removals_come_first() {
        let running = BTreeMap::from([(2, 'b')]);
        let wanted = BTreeMap::from([(1, 'b')]);

        let steps = plan(&running, &wanted);

        assert_eq!(steps, [Step::Remove(&2, &'b'), Step::Add(&1, &'b')]);
    }
}
