//! Global variables. The consoles, scripts and scheduled events of a user share them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use menu::Reason;

use crate::value::Value;

/// Maximum bytes that the global variables of one user may keep.
const BYTES: usize = 64 << 20;

/// The global variables of one user.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Arc<Mutex<Variables>>,
}

#[derive(Debug, Default)]
struct Variables {
    values: BTreeMap<String, Value>,
    bytes: usize,
}

impl Environment {
    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.lock().values.get(name).cloned()
    }

    /// True if the variable exists.
    pub fn has(&self, name: &str) -> bool {
        self.lock().values.contains_key(name)
    }

    /// Creates a variable without a value unless it exists.
    ///
    /// # Errors
    /// The variables of the user exceed their limit.
    pub fn declare(&self, name: &str) -> Result<(), Reason> {
        if self.has(name) {
            return Ok(());
        }
        self.change(name, |_| {})
    }

    /// Assigns a value to a variable.
    ///
    /// # Errors
    /// The variables of the user exceed their limit; the variable keeps its old value.
    pub fn set(&self, name: &str, value: Value) -> Result<(), Reason> {
        self.change(name, |slot| *slot = value)
    }

    /// Changes the value of a variable in place.
    ///
    /// # Errors
    /// The variables of the user exceed their limit; the variable keeps its old value.
    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&mut Value)) -> Result<(), Reason> {
        let mut all = self.lock();
        let all = &mut *all;
        let before = all.values.get(name).map_or(0, |value| cost(name, value));
        let slot = all.values.entry(name.to_owned()).or_default();
        // Cloning makes the value shared, and the change would copy the whole array. Clone for rollback only if
        // the limit may be exceeded.
        let copy = (all.bytes > BYTES / 2).then(|| slot.clone());
        change(slot);
        let bytes = all.bytes - before + cost(name, slot);
        if bytes <= BYTES {
            all.bytes = bytes;
            return Ok(());
        }
        match copy {
            Some(copy) if before > 0 => *slot = copy,
            _ => {
                all.values.remove(name);
                all.bytes -= before;
            }
        }
        Err(Reason::Limit("memory"))
    }

    /// Removes a variable. Returns false if it did not exist.
    pub fn remove(&self, name: &str) -> bool {
        let mut all = self.lock();
        let removed = all.values.remove(name);
        if let Some(value) = &removed {
            all.bytes -= cost(name, value);
        }
        removed.is_some()
    }

    /// Returns all variables and their values, sorted by name.
    pub fn all(&self) -> Vec<(String, Value)> {
        let all = self.lock();
        all.values
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Variables> {
        self.variables
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(name: &str, value: &Value) -> usize {
    size_of::<String>() + name.len() + value.weight()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_beyond_the_limit_fail_and_freed_memory_is_reusable() {
        let environment = Environment::default();
        let large = || Value::str("x".repeat(BYTES / 3));
        for name in ["a", "b"] {
            environment.set(name, large()).expect("there is room");
        }

        assert_eq!(environment.set("c", large()), Err(Reason::Limit("memory")));
        let grown = environment.change("b", |slot| *slot = Value::list([large(), large()]));

        assert_eq!(grown, Err(Reason::Limit("memory")));
        assert_eq!(environment.get("b").map(|v| v.len()), Some(BYTES / 3));
        assert!(!environment.has("c"));
        assert!(environment.remove("a"));
        assert_eq!(environment.set("c", large()), Ok(()));
    }
}
