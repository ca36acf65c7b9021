//! Global variables: those of a user are shared by his consoles, scripts and scheduled events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use menu::Reason;

use crate::value::Value;

/// The bytes that the global variables of one user may keep.
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
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.lock().values.get(name).cloned()
    }

    /// Whether there is such a variable.
    pub fn has(&self, name: &str) -> bool {
        self.lock().values.contains_key(name)
    }

    /// Makes a variable without a value, if there is none of this name.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn declare(&self, name: &str) -> Result<(), Reason> {
        if self.has(name) {
            return Ok(());
        }
        self.change(name, |_| {})
    }

    /// Gives a variable a value.
    ///
    /// # Errors
    /// There is no room for it; it has the value that it had.
    pub fn set(&self, name: &str, value: Value) -> Result<(), Reason> {
        self.change(name, |slot| *slot = value)
    }

    /// Changes the value of a variable where it is.
    ///
    /// # Errors
    /// There is no room for it; it has the value that it had.
    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&mut Value)) -> Result<(), Reason> {
        let mut all = self.lock();
        let all = &mut *all;
        let before = all.values.get(name).map_or(0, |value| cost(name, value));
        let slot = all.values.entry(name.to_owned()).or_default();
        // Sharing with the copy would make each change of an element copy all of them: what was
        // there is only kept when there may be no room.
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

    /// Removes a variable; says whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let mut all = self.lock();
        let removed = all.values.remove(name);
        if let Some(value) = &removed {
            all.bytes -= cost(name, value);
        }
        removed.is_some()
    }

    /// All variables with their values, by name.
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
    fn what_there_is_no_room_for_is_refused_and_room_comes_back() {
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
