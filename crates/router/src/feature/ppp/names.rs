//! Names of dynamic interfaces: `<pppoe-anna>`; further sessions of a user get the lowest free suffix:
//! `<pppoe-anna-1>`.

use std::collections::{BTreeMap, BTreeSet};

use crate::intent::Name;

/// The names in use.
#[derive(Debug, Default)]
pub(in crate::feature) struct InterfaceNames {
    users: BTreeMap<(&'static str, Name), Suffixes>,
}

/// Suffixes of a user's interfaces; 0 stands for none.
#[derive(Debug, Default)]
struct Suffixes {
    /// Returned suffixes below `next`.
    free: BTreeSet<u32>,
    /// The lowest suffix that was never given.
    next: u32,
}

impl InterfaceNames {
    /// Returns the name for a new session of a user, and its suffix.
    pub(in crate::feature) fn give(&mut self, service: &'static str, user: &Name) -> (Name, u32) {
        let suffixes = self.users.entry((service, user.clone())).or_default();
        let suffix = suffixes.free.pop_first().unwrap_or_else(|| {
            suffixes.next += 1;
            suffixes.next - 1
        });
        let name = match suffix {
            0 => format!("<{service}-{user}>"),
            suffix => format!("<{service}-{user}-{suffix}>"),
        };
        (name.into(), suffix)
    }

    /// Returns a suffix when the session has ended.
    pub(in crate::feature) fn give_back(
        &mut self,
        service: &'static str,
        user: &Name,
        suffix: u32,
    ) {
        let key = (service, user.clone());
        let Some(suffixes) = self.users.get_mut(&key) else {
            return;
        };
        suffixes.free.insert(suffix);
        if suffixes.free.len() == suffixes.next as usize {
            self.users.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_of_a_user_has_the_lowest_free_suffix() {
        let mut names = InterfaceNames::default();
        let anna = Name::from("anna");
        let give = |names: &mut InterfaceNames| names.give("pppoe", &anna);
        let first = give(&mut names);
        let second = give(&mut names);
        assert_eq!((&*first.0, first.1), ("<pppoe-anna>", 0));
        assert_eq!((&*second.0, second.1), ("<pppoe-anna-1>", 1));
        names.give_back("pppoe", &anna, 0);
        assert_eq!(&*give(&mut names).0, "<pppoe-anna>");
        names.give_back("pppoe", &anna, 1);
        names.give_back("pppoe", &anna, 0);
        assert!(
            names.users.is_empty(),
            "memory returns with the last session"
        );
    }
}
