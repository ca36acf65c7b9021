//! Numbers for what rules call by name: marks, lists of addresses, chains.
//!
//! A number stays with its name for as long as the router runs, because packets and connections
//! carry it, and so do rules that are not compiled anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::rule::{ChainId, List};

use crate::intent::Name;

/// How many names of a kind there can be.
const MOST: u32 = 1 << 16;

/// The marks of packets, or those of connections. 0 is no mark.
#[derive(Debug, Default)]
pub struct Marks {
    numbers: BTreeMap<Name, u32>,
    names: Vec<Name>,
}

impl Marks {
    /// The number of a mark, given if it has none; none if all are taken.
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

    /// The number of a mark that has one.
    pub fn known(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name of a mark.
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
    /// The list of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<&Arc<List>> {
        self.by_name.get(name)
    }

    /// The list of this name, made if there is none; none if there is no room for it.
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

    /// The name of a list.
    pub fn name(&self, number: u32) -> Option<&Name> {
        self.names.get(number as usize)
    }

    /// All lists by their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Arc<List>)> {
        self.by_name.iter()
    }
}

/// The places of a table's chains: the built-in ones come first.
#[derive(Debug)]
pub(super) struct Chains {
    places: BTreeMap<Name, ChainId>,
    names: Vec<Name>,
    builtin: usize,
}

impl Chains {
    /// A table that has only these.
    pub(super) fn new(builtin: &[&str]) -> Self {
        let names: Vec<_> = builtin.iter().map(|name| Name::from(*name)).collect();
        let place = |(place, name): (usize, &Name)| (name.clone(), ChainId(place as u16));
        Self {
            places: names.iter().enumerate().map(place).collect(),
            builtin: names.len(),
            names,
        }
    }

    /// The place of a chain, given if it has none; none if all are taken.
    pub(super) fn place(&mut self, name: &Name) -> Option<ChainId> {
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        let place = ChainId(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.clone());
        self.places.insert(name.clone(), place);
        Some(place)
    }

    /// The place of a chain that has one.
    pub(super) fn known(&self, name: &str) -> Option<ChainId> {
        self.places.get(name).copied()
    }

    /// Whether packets come to the chain without a jump.
    pub(super) fn is_builtin(&self, place: ChainId) -> bool {
        usize::from(place.0) < self.builtin
    }

    /// The names of all chains, by place.
    pub(super) fn names(&self) -> &[Name] {
        &self.names
    }
}
