//! Numbers of marks, address lists and chains, which rules use by name.
//!
//! A name keeps its number while the router runs, because packets, connections and compiled rules contain the number.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::rule::{ChainId, List};

use crate::intent::Name;

/// Maximum number of names of a kind.
const MOST: u32 = 1 << 16;

/// Packet marks or connection marks. 0 is no mark.
#[derive(Debug, Default)]
pub struct Marks {
    numbers: BTreeMap<Name, u32>,
    names: Vec<Name>,
}

impl Marks {
    /// Returns the number of a mark, which a new mark gets here; `None` if all numbers are taken.
    pub fn number(&mut self, name: &Name) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = self.names.len() as u32 + 1;
        if number >= MOST {
            return None;
        }
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        Some(number)
    }

    /// Returns the number of a known mark.
    pub fn known(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the name of a mark.
    pub fn name(&self, number: u32) -> Option<&Name> {
        self.names.get((number as usize).checked_sub(1)?)
    }
}

/// The address lists of one family.
#[derive(Debug, Default)]
pub struct Lists {
    by_name: BTreeMap<Name, Arc<List>>,
    names: Vec<Name>,
}

impl Lists {
    /// Returns the list with this name, if it exists.
    pub fn find(&self, name: &str) -> Option<&Arc<List>> {
        self.by_name.get(name)
    }

    /// Returns the list with this name, which is created if it does not exist; `None` without room for it.
    pub fn list(&mut self, name: &Name) -> Option<Arc<List>> {
        if let Some(list) = self.by_name.get(name) {
            return Some(Arc::clone(list));
        }
        let number = self.names.len() as u32;
        if number >= MOST {
            return None;
        }
        let list = Arc::new(List::new(number).ok()?);
        self.names.push(name.clone());
        self.by_name.insert(name.clone(), Arc::clone(&list));
        Some(list)
    }

    /// Returns the name of a list.
    pub fn name(&self, number: u32) -> Option<&Name> {
        self.names.get(number as usize)
    }

    /// Returns all lists with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Arc<List>)> {
        self.by_name.iter()
    }
}

/// Indexes of a table's chains: the builtin ones come first.
#[derive(Debug)]
pub(super) struct Chains {
    places: BTreeMap<Name, ChainId>,
    names: Vec<Name>,
    builtin: usize,
}

impl Chains {
    /// Creates a table with the builtin chains only.
    pub(super) fn new(builtin: &[&str]) -> Self {
        let names: Vec<_> = builtin.iter().map(|name| Name::from(*name)).collect();
        let place = |(place, name): (usize, &Name)| (name.clone(), ChainId(place as u16));
        Self {
            places: names.iter().enumerate().map(place).collect(),
            builtin: names.len(),
            names,
        }
    }

    /// Returns the index of a chain, which a new chain gets here; `None` if all are taken.
    pub(super) fn place(&mut self, name: &Name) -> Option<ChainId> {
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        let place = ChainId(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.clone());
        self.places.insert(name.clone(), place);
        Some(place)
    }

    /// Returns the index of a known chain.
    pub(super) fn known(&self, name: &str) -> Option<ChainId> {
        self.places.get(name).copied()
    }

    /// Whether packets enter the chain without a jump.
    pub(super) fn is_builtin(&self, place: ChainId) -> bool {
        usize::from(place.0) < self.builtin
    }

    /// Returns the names of all chains, by index.
    pub(super) fn names(&self) -> &[Name] {
        &self.names
    }
}
