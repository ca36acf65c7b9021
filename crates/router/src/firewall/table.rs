//! One menu of rules: its rules in order, and its compiled table.
//!
//! The cost of a change depends on the change: changed rules are read, compiled, and replaced in the compiled table
//! ([`Assembly`]). A change of a named object (interface, interface list, routing table) recompiles the rules that name
//! the object. So does a jump that closes a circle.

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
use super::resolve::{self, Numbered, RuleIdentity, World};
use super::rule::{Rule, UnresolvedAction};
use super::targets::Targets;
use super::uses::Uses;
use crate::intent::{ItemId, Name};

/// Identifies a menu of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Which {
    /// Its path.
    pub path: &'static str,
    /// IPv6 rather than IPv4.
    pub ipv6: bool,
    /// Purpose of its rules.
    pub kind: Kind,
}

/// Purpose of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Before connection tracking.
    Raw,
    /// Marks and packet changes.
    Mangle,
    /// Address translation.
    Nat,
    /// Packet filter.
    Filter,
    /// Translation of link addresses by bridges.
    BridgeNat,
    /// Frame filter of bridges.
    BridgeFilter,
    /// Rules of switch chips.
    Chip,
}

impl Kind {
    /// Returns the chains that packets enter without a jump.
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

    /// Returns the chains that translate destinations; other chains translate sources.
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
    /// Whether its rules examine packets of a family.
    pub const fn is_of(self, ipv6: bool) -> bool {
        !self.is_of_bridges() && self.ipv6 == ipv6
    }

    /// Whether its rules examine frames of bridges.
    pub const fn is_of_bridges(self) -> bool {
        matches!(self.kind, Kind::BridgeNat | Kind::BridgeFilter | Kind::Chip)
    }

    /// Reads a rule from its item.
    fn read(self, item: &Item) -> Rule {
        match self.kind {
            Kind::BridgeNat | Kind::BridgeFilter => link::rule(item),
            Kind::Chip => chip::rule(item),
            Kind::Raw | Kind::Mangle | Kind::Nat | Kind::Filter => read::rule(item, self.ipv6),
        }
    }
}

/// State that all tables share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Counter numbers of rules.
    pub numbers: Numbers,
    /// Marks of packets.
    pub packet_marks: Marks,
    /// Marks of connections.
    pub connection_marks: Marks,
    /// Address lists of IPv4 and of IPv6.
    pub lists: [Lists; 2],
    /// Slots of translations.
    pub targets: Targets,
    /// Interfaces that rules name directly, with the number of uses.
    pub named: BTreeMap<Name, usize>,
    /// Interfaces that rules started or stopped naming since the last call of [`Self::take_renamed`].
    pub renamed: BTreeSet<Name>,
    /// By counter number: index of the table, and item.
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

    /// Returns the interfaces that rules started or stopped naming since the last call.
    pub fn take_renamed(&mut self) -> BTreeSet<Name> {
        core::mem::take(&mut self.renamed)
    }

    /// Reverses [`Self::name`].
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

/// Maximum number of chains without a rule that keep their index.
const STALE_CHAINS: usize = 1024;
/// Maximum number of changed rules that are replaced one by one.
const FEW: usize = 8;

/// A menu of rules.
#[derive(Debug)]
pub struct RuleMenu {
    which: Which,
    chains: Chains,
    rules: BTreeMap<ItemId, Entry>,
    /// Items of rules that features created. They precede the configured rules.
    made: BTreeMap<ItemId, Item>,
    /// True if rules of features changed and were not applied yet.
    made_others: bool,
    order: BTreeMap<Order, ItemId>,
    uses: Uses,
    /// Rules to compile.
    uncompiled: BTreeSet<ItemId>,
    /// Rules to replace in the table; all rules, if chains lost their index.
    changed: BTreeSet<ItemId>,
    rebuilds: bool,
    /// Jumps that close a circle or exceed the maximum depth.
    endless: BTreeSet<ItemId>,
    /// NAT: user chains that translate destinations.
    of_destinations: BTreeSet<Name>,
    assembly: Assembly,
}

impl RuleMenu {
    /// Creates a menu without rules.
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

    /// Returns the menu.
    pub const fn which(&self) -> Which {
        self.which
    }

    /// Returns the compiled table.
    pub const fn table(&self) -> &Arc<Table> {
        self.assembly.table()
    }

    /// Whether the menu has an enabled rule.
    pub const fn is_used(&self) -> bool {
        self.uses.enabled > 0
    }

    /// Whether an enabled rule fasttracks connections.
    pub const fn fasttracks(&self) -> bool {
        self.uses.fasttracking > 0
    }

    /// Returns the counter number of a rule.
    pub fn number(&self, item: ItemId) -> Option<u32> {
        self.rules.get(&item).map(|entry| entry.number)
    }

    /// Returns why an enabled rule is invalid; `None` for a valid rule.
    pub fn invalid(&self, item: ItemId) -> Option<&Invalid> {
        self.rules.get(&item)?.invalid.as_ref()
    }

    /// Returns the rule of an item.
    pub(super) fn rule(&self, item: ItemId) -> Option<&Rule> {
        self.rules.get(&item).map(|entry| &entry.rule)
    }

    /// Returns the items of all rules with their counter numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (ItemId, u32)> {
        self.rules.iter().map(|(item, entry)| (*item, entry.number))
    }

    /// Returns the counter number of each rule with the menu and the position in its list.
    pub(super) fn names(&self, numbers: &BTreeSet<u64>) -> impl Iterator<Item = (u64, String)> {
        let menu = self.which.path.trim_start_matches('/');
        let items = self.order.values().enumerate();
        items.filter_map(move |(position, item)| {
            let number = u64::from(self.number(*item)?);
            let is_wanted = numbers.contains(&number);
            is_wanted.then(|| (number, format!("{menu} {position}")))
        })
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

    /// Adds a rule of a feature, behind earlier ones.
    pub fn make(&mut self, item: Item, shared: &mut Shared) {
        self.take(&item, Order::made(&item), None, shared);
        self.made.insert(item.id.0, item);
        self.made_others = true;
    }

    /// Removes a rule of a feature.
    pub fn unmake(&mut self, id: ItemId, shared: &mut Shared) {
        self.made.remove(&id);
        self.forget(id, shared);
        self.made_others = true;
    }

    /// Whether rules of features changed since the last call.
    pub fn take_made_others(&mut self) -> bool {
        core::mem::take(&mut self.made_others)
    }

    /// Returns the items of rules of features, in order.
    pub fn made(&self) -> &BTreeMap<ItemId, Item> {
        &self.made
    }

    /// Reads the changes of a transaction; returns whether there are any.
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

    /// Marks rules for recompilation whose names may have changed; returns whether there are any.
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

    /// Compiles the marked rules, and rebuilds their chains.
    pub fn bind(&mut self, world: &World<'_>, shared: &mut Shared) {
        self.compile(world, shared);
        self.assemble();
    }

    /// Reads an item. A rule keeps its state if only its comment or position changed.
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
        // Beyond a million rules, the others share the last number.
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

    /// Removes a rule, if it exists.
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

    /// Updates jumps and chains after rules were added or removed.
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

    /// Finds invalid jumps, and the chains that translate destinations.
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

    /// Removes unused chains if they are many: chains change as long as the router runs, and indexes are limited.
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

    /// Compiles the rules that are not compiled yet.
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
            // No packet reaches a chain without an index.
            let _ = numbered.chains.place(chain);
            let destinations = self.which.kind.of_destinations().contains(&&**chain)
                || self.of_destinations.contains(chain);
            let place = RuleIdentity {
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

    /// Updates the table with compiled rules.
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
    matches!(rule.deed, Some(UnresolvedAction::Translate(_)))
}

fn is_readdressing(rule: &Rule) -> bool {
    matches!(
        rule.deed,
        Some(UnresolvedAction::Plain(rule::Action::Readdress(_)))
    )
}

fn give_back(entry: &Entry, shared: &mut Shared) {
    shared.unname(&entry.rule);
    shared.owners.remove(&entry.number);
    shared.numbers.take_back(entry.number);
    if let Some(place) = entry.target {
        shared.targets.take_back(place);
    }
}

/// Whether two items have equal matchers and actions.
fn is_same_rule(before: &Item, after: &Item) -> bool {
    let said = |item: &Item| -> Vec<_> {
        let values = item
            .values()
            .map(|(property, value)| (property.name, value.clone()));
        values.filter(|(name, _)| *name != "comment").collect()
    };
    said(before) == said(after)
}
