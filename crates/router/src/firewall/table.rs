//! One menu of rules: what it has, in order, and what the data plane has of it.
//!
//! A change costs what it touches: rules that changed are read and compiled, and replaced in the compiled table
//! ([`Assembly`]). Only what a rule names brings others with it: an interface, a list of them, a routing table, a jump
//! that closes a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::firewall;
use dataplane::nat::Side;
use dataplane::rule::{self, RuleCounters, Table};
use menu::{Change, Item, Store};

use super::assembly::{Assembly, Order, Placed};
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
use super::uses::Uses;
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
    order: Order,
    number: u32,
    target: Option<u32>,
    compiled: Option<Arc<rule::Rule>>,
    invalid: Option<Invalid>,
}

/// How many chains without a rule keep their places.
const STALE_CHAINS: usize = 1024;
/// Up to this many changed rules are replaced in the table one by one.
const FEW: usize = 8;

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
    order: BTreeMap<Order, ItemId>,
    uses: Uses,
    /// Rules to compile.
    uncompiled: BTreeSet<ItemId>,
    /// Rules to replace in the table; all of them, if chains lost their places.
    changed: BTreeSet<ItemId>,
    rebuilds: bool,
    /// The jumps that are not made.
    endless: BTreeSet<ItemId>,
    /// Of nat: the user's chains that translate destinations.
    of_destinations: BTreeSet<Name>,
    assembly: Assembly,
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
            order: BTreeMap::new(),
            uses: Uses::default(),
            uncompiled: BTreeSet::new(),
            changed: BTreeSet::new(),
            rebuilds: false,
            endless: BTreeSet::new(),
            of_destinations: BTreeSet::new(),
            assembly: Assembly::default(),
        }
    }

    /// The menu.
    pub const fn which(&self) -> Which {
        self.which
    }

    /// What the data plane has of it.
    pub const fn table(&self) -> &Arc<Table> {
        self.assembly.table()
    }

    /// Whether it has a rule that is in use.
    pub const fn is_used(&self) -> bool {
        self.uses.enabled > 0
    }

    /// Whether a rule in use fasttracks connections.
    pub const fn fasttracks(&self) -> bool {
        self.uses.fasttracking > 0
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
        for item in self.rules.keys().copied().collect::<Vec<_>>() {
            self.forget(item, shared);
        }
        for item in store.items(self.which.path) {
            self.take(item, Order::configured(item), None, shared);
        }
        for item in self.made.values().cloned().collect::<Vec<_>>() {
            self.take(&item, Order::made(&item), None, shared);
        }
        (self.rebuilds, self.uses.jumps_changed) = (true, true);
    }

    /// A rule comes behind those that were made before.
    pub fn make(&mut self, item: Item, shared: &mut Shared) {
        self.take(&item, Order::made(&item), None, shared);
        self.made.insert(item.id.0, item);
        self.made_others = true;
    }

    /// A rule that was made goes.
    pub fn unmake(&mut self, id: ItemId, shared: &mut Shared) {
        self.made.remove(&id);
        self.forget(id, shared);
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
                Some(item) => {
                    let before = change.before.as_deref();
                    self.take(item, Order::configured(item), before, shared);
                }
                None => self.forget(change.id.0, shared),
            }
        }
        any
    }

    /// Has the rules compiled anew that name something which may be other now; says whether there is one.
    pub fn unbind(&mut self, concerns: impl Fn(&Rule) -> bool) -> bool {
        let mut changed = false;
        let concerned = self.rules.iter_mut();
        for (item, entry) in concerned.filter(|(_, entry)| concerns(&entry.rule)) {
            entry.compiled = None;
            self.uncompiled.insert(*item);
            changed = true;
        }
        changed
    }

    /// Compiles what is to be compiled anew, and puts chains together.
    pub fn bind(&mut self, world: &World<'_>, shared: &mut Shared) {
        self.compile(world, shared);
        self.assemble();
    }

    /// Reads an item. A rule keeps what it remembers if only its comment or its place changed.
    fn take(&mut self, item: &Item, order: Order, before: Option<&Item>, shared: &mut Shared) {
        let id = item.id.0;
        let known = self.rules.get_mut(&id);
        if let (Some(entry), Some(before)) = (known, before) {
            if entry.order != order {
                self.order.remove(&entry.order);
                self.order.insert(order, id);
                entry.order = order;
                self.changed.insert(id);
                self.uses.jumps_changed |= entry.rule.jumps_to().is_some();
            }
            if is_same_rule(before, item) {
                return;
            }
            shared.unname(&entry.rule);
            self.uses.count(&entry.rule, false);
            entry.rule = self.which.read(item);
            self.uses.count(&entry.rule, true);
            shared.name(&entry.rule);
            entry.compiled = None;
            self.uncompiled.insert(id);
            return;
        }
        self.forget(id, shared);
        let all = shared.counters.iter().map(|counters| &**counters);
        // Beyond a million rules they share the last number.
        let number = shared.numbers.give(all).unwrap_or(u32::MAX);
        let place = MENUS.iter().position(|which| *which == self.which);
        if let Some(place) = place {
            shared.owners.insert(number, (place, id));
        }
        let entry = Entry {
            rule: self.which.read(item),
            order,
            number,
            target: None,
            compiled: None,
            invalid: None,
        };
        shared.name(&entry.rule);
        self.uses.count(&entry.rule, true);
        self.order.insert(order, id);
        self.uncompiled.insert(id);
        self.rules.insert(id, entry);
    }

    /// Forgets a rule, if it is there.
    fn forget(&mut self, id: ItemId, shared: &mut Shared) {
        let Some(entry) = self.rules.remove(&id) else {
            return;
        };
        give_back(&entry, shared);
        self.uses.count(&entry.rule, false);
        self.order.remove(&entry.order);
        self.uncompiled.remove(&id);
        self.changed.insert(id);
    }

    /// Brings everything up to date after rules came or went.
    pub fn settle(&mut self, world: &World<'_>, shared: &mut Shared) {
        for item in &self.uncompiled {
            let Some(entry) = self.rules.get_mut(item) else {
                continue;
            };
            if is_translation(&entry.rule) != entry.target.is_some() {
                match entry.target.take() {
                    Some(place) => shared.targets.take_back(place),
                    None => entry.target = Some(shared.targets.give()),
                }
            }
        }
        self.follow_jumps();
        self.forget_chains();
        self.bind(world, shared);
    }

    /// Finds the jumps that are not made, and the chains that translate destinations.
    fn follow_jumps(&mut self) {
        if !core::mem::take(&mut self.uses.jumps_changed) {
            return;
        }
        let jumps = || {
            self.order.values().filter_map(|item| {
                let rule = &self.rules.get(item)?.rule;
                Some((*item, &rule.chain, rule.jumps_to()?)).filter(|_| !rule.disabled)
            })
        };
        let endless = jumps::endless(jumps());
        let of_destinations = jumps::reached(self.which.kind.of_destinations(), jumps());
        for item in endless.symmetric_difference(&self.endless) {
            if let Some(entry) = self.rules.get_mut(item) {
                entry.compiled = None;
                self.uncompiled.insert(*item);
            }
        }
        if of_destinations != self.of_destinations {
            let sided = |rule: &Rule| is_translation(rule) || is_readdressing(rule);
            let rules = self.rules.iter_mut();
            for (item, entry) in rules.filter(|(_, entry)| sided(&entry.rule)) {
                entry.compiled = None;
                self.uncompiled.insert(*item);
            }
        }
        (self.endless, self.of_destinations) = (endless, of_destinations);
    }

    /// Forgets chains that no rule names any more, when they are many: chains come and go for as
    /// long as the router runs, and their places are few.
    fn forget_chains(&mut self) {
        if self.chains.names().len() > self.uses.chains.len() + STALE_CHAINS {
            self.chains = Chains::new(self.which.kind.chains());
            self.rebuilds = true;
            for (item, entry) in &mut self.rules {
                entry.compiled = None;
                self.uncompiled.insert(*item);
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
        for item in core::mem::take(&mut self.uncompiled) {
            let Some(entry) = self.rules.get_mut(&item) else {
                continue;
            };
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
                endless: self.endless.contains(&item),
            };
            let (rule, invalid) = resolve::compile(&entry.rule, &place, world, &mut numbered);
            entry.invalid = invalid.filter(|_| !entry.rule.disabled);
            entry.compiled = Some(Arc::new(rule));
            self.changed.insert(item);
        }
    }

    /// Brings the table up to date with rules that are compiled.
    fn assemble(&mut self) {
        let changed = core::mem::take(&mut self.changed);
        let names = self.chains.names();
        let rebuilds = core::mem::take(&mut self.rebuilds);
        let placed = |item: ItemId| {
            let entry = { self.rules.get(&item) }.filter(|entry| !entry.rule.disabled)?;
            Some(Placed {
                chain: self.chains.known(&entry.rule.chain)?,
                order: entry.order,
                rule: entry.compiled.clone()?,
            })
        };
        if rebuilds || changed.len() > FEW || names.len() != self.assembly.chain_count() {
            let all = self.order.values();
            let all = all.filter_map(|item| Some((*item, placed(*item)?)));
            self.assembly.rebuild(names, all);
        } else {
            for item in changed {
                self.assembly.replace(item, placed(item));
            }
        }
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
