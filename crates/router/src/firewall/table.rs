//! One menu of rules: what it has, in order, and what the data plane has of it.
//!
//! A change costs what it touches: rules that are other are read and compiled, and chains are put
//! together of what is there. Only what a rule names brings others with it: an interface, a list of
//! them, a routing table, a jump that closes a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::firewall;
use dataplane::nat::Side;
use dataplane::rule::{self, RuleCounters, Table};
use menu::{Change, Item, Store};

use super::chip;
use super::invalid::Invalid;
use super::jumps;
use super::link;
use super::names::{Chains, Lists, Marks};
use super::numbers::Numbers;
use super::read;
use super::resolve::{self, Numbered, Place, World};
use super::rule::{Deed, Rule};
use super::targets::Targets;
use crate::intent::{ItemId, Name};

/// Which menu it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Which {
    /// Its path.
    pub path: &'static str,
    /// IPv6 rather than IPv4.
    pub ipv6: bool,
    /// What its rules are for.
    pub kind: Kind,
}

/// What rules are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Before connections are looked at.
    Raw,
    /// Marks and changes.
    Mangle,
    /// Translations.
    Nat,
    /// What goes on and what does not.
    Filter,
    /// Link addresses that bridges change.
    BridgeNat,
    /// Which frames bridges let pass.
    BridgeFilter,
    /// What switch chips do with frames.
    Chip,
}

impl Kind {
    /// The chains that packets come to without a jump.
    pub const fn chains(self) -> &'static [&'static str] {
        match self {
            Self::Raw => firewall::raw::CHAINS,
            Self::Mangle => firewall::mangle::CHAINS,
            Self::Nat => firewall::nat::CHAINS,
            Self::Filter | Self::BridgeFilter => firewall::filter::CHAINS,
            Self::BridgeNat => firewall::bridge_nat::CHAINS,
            Self::Chip => firewall::chip::CHAINS,
        }
    }

    /// The chains that translate destinations; others translate sources.
    const fn of_destinations(self) -> &'static [&'static str] {
        match self {
            Self::Nat => &["dstnat", "output"],
            Self::BridgeNat => &["dstnat"],
            Self::Raw | Self::Mangle | Self::Filter | Self::BridgeFilter | Self::Chip => &[],
        }
    }
}

/// All menus of rules.
pub(super) const MENUS: [Which; 11] = [
    which("/ip/firewall/raw", false, Kind::Raw),
    which("/ip/firewall/mangle", false, Kind::Mangle),
    which("/ip/firewall/nat", false, Kind::Nat),
    which("/ip/firewall/filter", false, Kind::Filter),
    which("/ipv6/firewall/raw", true, Kind::Raw),
    which("/ipv6/firewall/mangle", true, Kind::Mangle),
    which("/ipv6/firewall/nat", true, Kind::Nat),
    which("/ipv6/firewall/filter", true, Kind::Filter),
    which("/interface/bridge/nat", false, Kind::BridgeNat),
    which("/interface/bridge/filter", false, Kind::BridgeFilter),
    which(chip::MENU, false, Kind::Chip),
];

const fn which(path: &'static str, ipv6: bool, kind: Kind) -> Which {
    Which { path, ipv6, kind }
}

impl Which {
    /// Whether its rules look at packets of a family.
    pub const fn is_of(self, ipv6: bool) -> bool {
        !self.is_of_bridges() && self.ipv6 == ipv6
    }

    /// Whether its rules look at the frames of bridges.
    pub const fn is_of_bridges(self) -> bool {
        matches!(self.kind, Kind::BridgeNat | Kind::BridgeFilter | Kind::Chip)
    }

    /// A rule, from its item.
    fn read(self, item: &Item) -> Rule {
        match self.kind {
            Kind::BridgeNat | Kind::BridgeFilter => link::rule(item),
            Kind::Chip => chip::rule(item),
            Kind::Raw | Kind::Mangle | Kind::Nat | Kind::Filter => read::rule(item, self.ipv6),
        }
    }
}

/// What tables share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Numbers of rules.
    pub numbers: Numbers,
    /// Marks of packets.
    pub packet_marks: Marks,
    /// Marks of connections.
    pub connection_marks: Marks,
    /// Address lists of IPv4 and of IPv6.
    pub lists: [Lists; 2],
    /// Translations.
    pub targets: Targets,
    /// The interfaces that rules name, with how many times.
    pub named: BTreeMap<Name, usize>,
    /// The interfaces that rules name since [`Self::take_renamed`] was called last, or name no more.
    pub renamed: BTreeSet<Name>,
    /// Whose number it is: the place of a table, and an item there.
    pub owners: BTreeMap<u32, (usize, ItemId)>,
    /// The counters of all workers.
    pub counters: Vec<Arc<RuleCounters>>,
}

impl Shared {
    /// The address lists of a family.
    pub fn lists(&self, ipv6: bool) -> &Lists {
        &self.lists[usize::from(ipv6)]
    }

    /// Counts the interfaces that a rule names.
    fn name(&mut self, rule: &Rule) {
        for name in rule.interfaces() {
            let count = self.named.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 {
                self.renamed.insert(name.clone());
            }
        }
    }

    /// Returns the interfaces that rules name now and did not before, or the other way round.
    pub fn take_renamed(&mut self) -> BTreeSet<Name> {
        core::mem::take(&mut self.renamed)
    }

    /// Takes back what [`Self::name`] did.
    fn unname(&mut self, rule: &Rule) {
        for name in rule.interfaces() {
            if let Some(count) = self.named.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.named.remove(name);
                    self.renamed.insert(name.clone());
                }
            }
        }
    }
}

/// A rule of a table.
#[derive(Debug)]
struct Entry {
    rule: Rule,
    number: u32,
    target: Option<u32>,
    compiled: Option<Arc<rule::Rule>>,
    invalid: Option<Invalid>,
}

/// How many chains without a rule keep their places.
const STALE_CHAINS: usize = 1024;

/// See the module.
#[derive(Debug)]
pub struct Desk {
    which: Which,
    chains: Chains,
    rules: BTreeMap<ItemId, Entry>,
    /// The items of rules that features have made. They come first.
    made: BTreeMap<ItemId, Item>,
    /// Some of those are others, and nobody has followed.
    made_others: bool,
    order: Vec<ItemId>,
    /// The jumps that are not made.
    endless: BTreeSet<ItemId>,
    /// Of nat: the user's chains that translate destinations.
    of_destinations: BTreeSet<Name>,
    table: Arc<Table>,
}

impl Desk {
    /// A table without rules.
    pub fn new(which: Which) -> Self {
        Self {
            which,
            chains: Chains::new(which.kind.chains()),
            rules: BTreeMap::new(),
            made: BTreeMap::new(),
            made_others: false,
            order: Vec::new(),
            endless: BTreeSet::new(),
            of_destinations: BTreeSet::new(),
            table: Arc::default(),
        }
    }

    /// The menu.
    pub const fn which(&self) -> Which {
        self.which
    }

    /// What the data plane has of it.
    pub const fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Whether it has a rule that is in use.
    pub fn is_used(&self) -> bool {
        self.rules.values().any(|entry| !entry.rule.disabled)
    }

    /// Whether a rule in use fasttracks connections.
    pub fn fasttracks(&self) -> bool {
        let fasttracks = |rule: &Rule| {
            let deed = rule.deed.as_ref();
            matches!(deed, Some(Deed::Plain(rule::Action::Fasttrack))) && !rule.disabled
        };
        self.rules.values().any(|entry| fasttracks(&entry.rule))
    }

    /// The number that a rule is counted under.
    pub fn number(&self, item: ItemId) -> Option<u32> {
        self.rules.get(&item).map(|entry| entry.number)
    }

    /// Why a rule that is in use never matches, if it makes no sense as things are.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.rules.get(&item)?.invalid.as_ref()
    }

    /// A rule, by its item.
    pub(super) fn rule(&self, item: ItemId) -> Option<&Rule> {
        self.rules.get(&item).map(|entry| &entry.rule)
    }

    /// The items of all rules with their numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (ItemId, u32)> {
        self.rules.iter().map(|(item, entry)| (*item, entry.number))
    }

    /// Reads all rules of a configuration.
    pub fn load(&mut self, store: &Store, shared: &mut Shared) {
        for (_, entry) in core::mem::take(&mut self.rules) {
            give_back(&entry, shared);
        }
        let items: Vec<_> = store.items(self.which.path).cloned().collect();
        for item in &items {
            self.take(item, None, shared);
        }
        for item in self.made.values().cloned().collect::<Vec<_>>() {
            self.take(&item, None, shared);
        }
    }

    /// A rule comes behind those that were made before.
    pub fn make(&mut self, item: Item, shared: &mut Shared) {
        self.take(&item, None, shared);
        self.order.insert(self.made.len(), item.id.0);
        self.made.insert(item.id.0, item);
        self.made_others = true;
    }

    /// A rule that was made goes.
    pub fn unmake(&mut self, id: ItemId, shared: &mut Shared) {
        self.made.remove(&id);
        self.order.retain(|of| *of != id);
        if let Some(entry) = self.rules.remove(&id) {
            give_back(&entry, shared);
        }
        self.made_others = true;
    }

    /// Whether rules that were made are others since this was asked last.
    pub fn take_made_others(&mut self) -> bool {
        core::mem::take(&mut self.made_others)
    }

    /// The items of rules that were made, in order.
    pub fn made(&self) -> &BTreeMap<ItemId, Item> {
        &self.made
    }

    /// Reads what a transaction changed; says whether there is anything.
    pub fn follow<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a Change>,
        shared: &mut Shared,
    ) -> bool {
        let mut any = false;
        for change in changes {
            any = true;
            match &change.after {
                Some(item) => self.take(item, change.before.as_deref(), shared),
                None => {
                    if let Some(entry) = self.rules.remove(&change.id.0) {
                        give_back(&entry, shared);
                    }
                }
            }
        }
        any
    }

    /// Has the rules compiled anew that name something which may be other now; says whether there is one.
    pub fn unbind(&mut self, concerns: impl Fn(&Rule) -> bool) -> bool {
        let mut changed = false;
        for entry in self
            .rules
            .values_mut()
            .filter(|entry| concerns(&entry.rule))
        {
            entry.compiled = None;
            changed = true;
        }
        changed
    }

    /// Compiles what is to be compiled anew, and puts chains together.
    pub fn bind(&mut self, world: &World<'_>, shared: &mut Shared) {
        self.compile(world, shared);
        self.assemble();
    }

    /// Reads an item. What a rule remembers is kept when only its comment or its place is other.
    fn take(&mut self, item: &Item, before: Option<&Item>, shared: &mut Shared) {
        let id = item.id.0;
        let known = self.rules.get_mut(&id);
        if let (Some(entry), Some(before)) = (known, before) {
            if is_same_rule(before, item) {
                return;
            }
            shared.unname(&entry.rule);
            entry.rule = self.which.read(item);
            shared.name(&entry.rule);
            entry.compiled = None;
            return;
        }
        let all = shared.counters.iter().map(|counters| &**counters);
        // Beyond a million rules they share the last number.
        let number = shared.numbers.give(all).unwrap_or(u32::MAX);
        let place = MENUS.iter().position(|which| *which == self.which);
        if let Some(place) = place {
            shared.owners.insert(number, (place, id));
        }
        let entry = Entry {
            rule: self.which.read(item),
            number,
            target: None,
            compiled: None,
            invalid: None,
        };
        shared.name(&entry.rule);
        if let Some(before) = self.rules.insert(id, entry) {
            give_back(&before, shared);
        }
    }

    /// Brings everything up to date after rules of the store were read.
    pub fn finish(&mut self, store: &Store, world: &World<'_>, shared: &mut Shared) {
        let items = store.items(self.which.path).map(|item| item.id.0);
        self.order = self.made.keys().copied().chain(items).collect();
        self.settle(world, shared);
    }

    /// Brings everything up to date after rules came or went.
    pub fn settle(&mut self, world: &World<'_>, shared: &mut Shared) {
        for entry in self.rules.values_mut() {
            if is_translation(&entry.rule) != entry.target.is_some() {
                match entry.target.take() {
                    Some(place) => shared.targets.take_back(place),
                    None => entry.target = Some(shared.targets.give()),
                }
                entry.compiled = None;
            }
        }
        self.follow_jumps();
        self.forget_chains();
        self.bind(world, shared);
    }

    /// Finds the jumps that are not made, and the chains that translate destinations.
    fn follow_jumps(&mut self) {
        let jumps = || {
            self.order.iter().filter_map(|item| {
                let rule = &self.rules.get(item)?.rule;
                Some((*item, &rule.chain, rule.jumps_to()?)).filter(|_| !rule.disabled)
            })
        };
        let endless = jumps::endless(jumps());
        let of_destinations = jumps::reached(self.which.kind.of_destinations(), jumps());
        for item in endless.symmetric_difference(&self.endless) {
            if let Some(entry) = self.rules.get_mut(item) {
                entry.compiled = None;
            }
        }
        if of_destinations != self.of_destinations {
            let sided = |rule: &Rule| is_translation(rule) || is_readdressing(rule);
            for entry in self.rules.values_mut().filter(|entry| sided(&entry.rule)) {
                entry.compiled = None;
            }
        }
        (self.endless, self.of_destinations) = (endless, of_destinations);
    }

    /// Forgets chains that no rule names any more, when they are many: chains come and go for as
    /// long as the router runs, and their places are few.
    fn forget_chains(&mut self) {
        let rules = self.rules.values().map(|entry| &entry.rule);
        let named = rules.flat_map(|rule| rule.jumps_to().into_iter().chain([&rule.chain]));
        let named: BTreeSet<_> = named.collect();
        if self.chains.names().len() > named.len() + STALE_CHAINS {
            self.chains = Chains::new(self.which.kind.chains());
            for entry in self.rules.values_mut() {
                entry.compiled = None;
            }
        }
    }

    /// Compiles what is not compiled.
    fn compile(&mut self, world: &World<'_>, shared: &mut Shared) {
        let mut numbered = Numbered {
            packet_marks: &mut shared.packet_marks,
            connection_marks: &mut shared.connection_marks,
            lists: &mut shared.lists[usize::from(self.which.ipv6)],
            chains: &mut self.chains,
            targets: &mut shared.targets,
        };
        let all = self.rules.iter_mut();
        for (item, entry) in all.filter(|(_, entry)| entry.compiled.is_none()) {
            let chain = &entry.rule.chain;
            // A chain without room for it is one that no packet reaches.
            let _ = numbered.chains.place(chain);
            let destinations = self.which.kind.of_destinations().contains(&&**chain)
                || self.of_destinations.contains(chain);
            let place = Place {
                number: entry.number,
                target: entry.target,
                side: match destinations {
                    true => Side::Destination,
                    false => Side::Source,
                },
                endless: self.endless.contains(item),
            };
            let (rule, invalid) = resolve::compile(&entry.rule, &place, world, &mut numbered);
            entry.invalid = invalid.filter(|_| !entry.rule.disabled);
            entry.compiled = Some(Arc::new(rule));
        }
    }

    /// Puts chains together of rules that are compiled.
    fn assemble(&mut self) {
        let names = self.chains.names().iter();
        let mut chains: Vec<_> = names.map(|name| (name.clone(), Vec::new())).collect();
        let used = self.order.iter().filter_map(|item| self.rules.get(item));
        for entry in used.filter(|entry| !entry.rule.disabled) {
            if let (Some(place), Some(rule)) =
                (self.chains.known(&entry.rule.chain), &entry.compiled)
            {
                chains[usize::from(place.0)].1.push(Arc::clone(rule));
            }
        }
        self.table = Arc::new(Table::compile(Some(&self.table), chains));
    }
}

fn is_translation(rule: &Rule) -> bool {
    matches!(rule.deed, Some(Deed::Translate(_)))
}

fn is_readdressing(rule: &Rule) -> bool {
    matches!(rule.deed, Some(Deed::Plain(rule::Action::Readdress(_))))
}

fn give_back(entry: &Entry, shared: &mut Shared) {
    shared.unname(&entry.rule);
    shared.owners.remove(&entry.number);
    shared.numbers.take_back(entry.number);
    if let Some(place) = entry.target {
        shared.targets.take_back(place);
    }
}

/// Whether two items say the same of packets.
fn is_same_rule(before: &Item, after: &Item) -> bool {
    let said = |item: &Item| -> Vec<_> {
        let values = item
            .values()
            .map(|(property, value)| (property.name, value.clone()));
        values.filter(|(name, _)| *name != "comment").collect()
    };
    said(before) == said(after)
}
