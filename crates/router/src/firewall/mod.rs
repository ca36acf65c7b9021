//! The firewall's control side: compiles items for the data plane, and returns counters for rows.
//!
//! ```text
//! items ─read─▶ Rule (names) ─resolve─▶ rule::Rule (numbers) ─▶ Table ─▶ dataplane::Firewall
//!   RuleMenu: a menu's rules by item, in order                 Numbers: counters ◀─ workers
//! ```
//!
//! A transaction is applied change by change: only the changed rules are read and compiled. The names in rules
//! (interfaces, interface lists, routing tables) are looked up in the layout; after a change of the layout, the rules
//! with the changed names are compiled again and keep their state.

mod addresses;
mod assembly;
mod chip;
mod dynamic;
pub(crate) mod hosts;
mod invalid;
mod jumps;
mod link;
mod names;
mod numbers;
mod read;
mod resolve;
mod rule;
mod services;
mod sets;
mod table;
mod targets;
#[cfg(test)]
mod tests;
mod tracking;
mod uses;
pub(crate) mod value;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::firewall::{BridgeTables, Detour, Tables};
use dataplane::nat::helper::Services;
use dataplane::rule::{Class, Joined, Joining, Layer7, List, RuleCounters};
use frame::InterfaceId;
use machine::Instant;
use menu::{Change, Changes, Id, Item, Store, Value};

use crate::compile::Layout;
use crate::intent::{Intent, ItemId, Name};
use addresses::Entries;
use dynamic::DynamicEntries;
use resolve::World;
use rule::Rule;
use sets::{Difference, Sets};
use table::{Kind, MENUS, Shared};

pub(crate) use link::{kind_name, kinds as kinds_of};
pub use numbers::Hits;
pub(crate) use sets::{Others, is_in};
pub use table::{RuleMenu, Which};
pub use tracking::Tracking;
pub(crate) use value::{helper as helper_of, nat_states, protocol as protocol_of, tcp_flags};
pub use value::{protocol as protocol_number, protocol_name};

pub(crate) const ADDRESSES: [&str; 2] =
    ["/ip/firewall/address-list", "/ipv6/firewall/address-list"];
const PATTERNS: &str = "/ip/firewall/layer7-protocol";

/// Objects that rules can name.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The intent.
    pub intent: &'a Intent,
    /// The interfaces.
    pub layout: &'a Layout,
    /// The routing tables that forward.
    pub tables: &'a BTreeMap<Name, u16>,
    /// The time.
    pub now: Instant,
}

/// The firewall: rules by menu, address lists, and the compiled form.
#[derive(Debug)]
pub struct Firewall {
    desks: Vec<RuleMenu>,
    shared: Shared,
    sets: Sets,
    reclassified: BTreeSet<InterfaceId>,
    entries: [Entries; 2],
    dynamic: DynamicEntries,
    patterns: BTreeMap<Name, Layer7>,
    /// Messages for users.
    complaints: Vec<String>,
    tracking: Tracking,
    services: Services,
    detour: Detour,
    /// True if a switch chip of the board supports rules.
    pub(crate) chips_have_rules: bool,
    none: Arc<dataplane::rule::Table>,
    /// True if bridges use no fast path.
    bridges_are_slow: bool,
    /// True if queues read packet marks.
    keeps_marks: bool,
    joining: Option<Joining>,
    compiled: Arc<dataplane::firewall::Firewall>,
}

impl Firewall {
    /// Creates a firewall without rules; workers count in `counters`.
    pub fn new(counters: Vec<Arc<RuleCounters>>) -> Self {
        Self {
            desks: MENUS.into_iter().map(RuleMenu::new).collect(),
            shared: Shared {
                counters,
                ..Shared::default()
            },
            sets: Sets::default(),
            reclassified: BTreeSet::new(),
            entries: Default::default(),
            dynamic: DynamicEntries::default(),
            patterns: BTreeMap::new(),
            complaints: Vec::new(),
            tracking: Tracking::default(),
            services: Services::default(),
            detour: Detour::default(),
            chips_have_rules: true,
            none: Arc::default(),
            bridges_are_slow: false,
            keeps_marks: false,
            joining: None,
            compiled: Arc::default(),
        }
    }

    /// Returns the names of the rules with these numbers of counters.
    pub(crate) fn rule_names(&self, numbers: &BTreeSet<u64>) -> BTreeMap<u64, String> {
        let menus = self.desks.iter();
        menus.flat_map(|menu| menu.names(numbers)).collect()
    }

    /// Returns messages for users, once.
    pub(crate) fn take_complaints(&mut self) -> Vec<String> {
        core::mem::take(&mut self.complaints)
    }

    /// Returns the layer-7 patterns to combine, once.
    pub(crate) fn take_joining(&mut self) -> Option<Joining> {
        self.joining.take()
    }

    /// Installs combined patterns; returns whether workers must be told. Outdated results are ignored.
    pub(crate) fn hear_joined(&mut self, joined: &Joined) -> bool {
        let Some(sought) = self.compiled.sought.with(joined) else {
            return false;
        };
        let compiled = (*self.compiled).clone();
        self.compiled = Arc::new(dataplane::firewall::Firewall { sought, ..compiled });
        true
    }

    /// Returns the compiled firewall of the data plane.
    pub const fn compiled(&self) -> &Arc<dataplane::firewall::Firewall> {
        &self.compiled
    }

    /// Returns the settings of connection tracking.
    pub const fn tracking(&self) -> &Tracking {
        &self.tracking
    }

    /// Reads a configuration.
    pub fn load(&mut self, store: &Store, around: &Around<'_>) {
        for (ipv6, path) in ADDRESSES.into_iter().enumerate() {
            let lists = &mut self.shared.lists;
            self.entries[ipv6].load(store, path, around.now, &mut lists[ipv6]);
        }
        (self.patterns, self.complaints) = patterns(store);
        self.tracking = Tracking::read(store);
        self.services = services::read(store);
        self.detour = link::detour(store);
        self.bridges_are_slow = link::is_slow(store);
        for desk in &mut self.desks {
            desk.load(store, &mut self.shared);
        }
        let everything = self.sets.everything(around.intent, around.layout);
        self.change_sets(around, everything);
        let world = world(around, &self.sets, &self.patterns);
        for desk in &mut self.desks {
            desk.settle(&world, &mut self.shared);
        }
        self.put_together();
    }

    /// Applies the changes of a transaction; returns whether workers must be told.
    pub fn follow(&mut self, store: &Store, changes: &Changes, around: &Around<'_>) -> bool {
        let about = |change: &Change| is_about(change.menu.path);
        if !changes.list.iter().any(about) {
            return false;
        }
        for (ipv6, path) in ADDRESSES.into_iter().enumerate() {
            let lists = &mut self.shared.lists;
            self.entries[ipv6].follow(changes, path, around.now, &mut lists[ipv6]);
        }
        // Rules reference their lists: a change of entries changes no rule.
        let is_entry = |change: &Change| ADDRESSES.contains(&change.menu.path);
        let mut others = changes.list.iter().filter(|change| about(change));
        if others.all(is_entry) {
            return false;
        }
        let patterns_changed = changes.of(PATTERNS).next().is_some();
        if patterns_changed {
            (self.patterns, self.complaints) = patterns(store);
        }
        self.tracking = Tracking::read(store);
        self.services = services::read(store);
        self.detour = link::detour(store);
        self.bridges_are_slow = link::is_slow(store);
        let mut read = Vec::new();
        for desk in &mut self.desks {
            read.push(desk.follow(changes.of(desk.which().path), &mut self.shared));
        }
        let others = self.change_sets(around, Others::default());
        let concerns = |rule: &Rule| {
            patterns_changed && names_changed_pattern(rule, changes) || rule.names_any_of(&others)
        };
        let concerns_any = patterns_changed || !others.is_empty();
        let world = world(around, &self.sets, &self.patterns);
        for (desk, read) in self.desks.iter_mut().zip(read) {
            let unbound = concerns_any && desk.unbind(concerns);
            if read {
                desk.settle(&world, &mut self.shared);
            } else if unbound {
                desk.bind(&world, &mut self.shared);
            }
        }
        self.put_together()
    }

    /// Adds a rule of a feature to a menu, before the configured rules and behind earlier rules of features.
    pub(crate) fn make(&mut self, path: &str, id: Id, values: &[(&'static str, Value)]) {
        let mut menus = schema::ALL.iter().copied();
        let menu = menus.find(|menu| menu.path == path);
        let desk = { self.desks.iter_mut() }.find(|desk| desk.which().path == path);
        if let (Some(menu), Some(desk)) = (menu, desk) {
            desk.make(Item::made(menu, id, values), &mut self.shared);
        }
    }

    /// Removes a rule of a feature.
    pub(crate) fn unmake(&mut self, path: &str, id: ItemId) {
        let mut desks = self.desks.iter_mut();
        if let Some(desk) = desks.find(|desk| desk.which().path == path) {
            desk.unmake(id, &mut self.shared);
        }
    }

    /// Applies the added and removed rules of features; returns whether workers must be told.
    pub(crate) fn follow_made(&mut self, around: &Around<'_>) -> bool {
        let others: Vec<_> = self
            .desks
            .iter_mut()
            .map(RuleMenu::take_made_others)
            .collect();
        if !others.contains(&true) {
            return false;
        }
        let difference = self.change_sets(around, Others::default());
        let world = world(around, &self.sets, &self.patterns);
        for (desk, other) in self.desks.iter_mut().zip(others) {
            let concerns = |rule: &Rule| rule.names_any_of(&difference);
            let unbound = !difference.is_empty() && desk.unbind(concerns);
            if other {
                desk.settle(&world, &mut self.shared);
            } else if unbound {
                desk.bind(&world, &mut self.shared);
            }
        }
        self.put_together()
    }

    /// Returns all interfaces and interface lists.
    #[cfg(test)]
    pub(crate) fn everything(&self, around: &Around<'_>) -> Others {
        self.sets.everything(around.intent, around.layout)
    }

    /// Handles changes of interfaces, interface lists or routing tables.
    pub fn lay_out(&mut self, around: &Around<'_>, others: Others, tables: bool) {
        let sets = self.change_sets(around, others);
        if sets.is_empty() && !tables {
            return;
        }
        let world = world(around, &self.sets, &self.patterns);
        for desk in &mut self.desks {
            let concerns = |rule: &Rule| rule.names_any_of(&sets) || tables && rule.names_tables();
            if desk.unbind(concerns) {
                desk.bind(&world, &mut self.shared);
            }
        }
        self.put_together();
    }

    /// Returns the class of an interface in rules.
    pub(crate) fn class(&self, id: InterfaceId) -> Class {
        self.sets.class(id)
    }

    /// Returns the lists and names by which rules can match an interface.
    #[cfg(test)]
    pub(crate) fn known(&self, id: InterfaceId) -> Vec<Name> {
        self.sets.known(id)
    }

    /// Returns the interfaces whose class changed since the last call.
    pub(crate) fn take_reclassified(&mut self) -> BTreeSet<InterfaceId> {
        core::mem::take(&mut self.reclassified)
    }

    /// Recomputes the classes of these interfaces, and of interfaces that rules started or stopped naming. Returns the
    /// differences for rules.
    fn change_sets(&mut self, around: &Around<'_>, mut others: Others) -> Difference {
        let (intent, layout) = (around.intent, around.layout);
        let renamed = self.shared.take_renamed();
        let renamed = { renamed.iter() }.filter_map(|name| layout.by_name.get(name));
        others.interfaces.extend(renamed);
        let is_named = |name: &Name| self.shared.named.contains_key(name);
        let without = self.sets.without_class();
        let mut difference = self.sets.change(&others, intent, layout, is_named);
        self.reclassified.append(&mut difference.reclassified);
        let now_without = self.sets.without_class();
        if now_without > without {
            let message = format!("rules do not know {now_without} interfaces: too many differ");
            self.complaints.push(message);
        }
        difference
    }

    /// Packets keep their marks from now on, because queues read them.
    pub(crate) fn keep_marks(&mut self) {
        if !core::mem::replace(&mut self.keeps_marks, true) {
            self.put_together();
        }
    }

    /// Builds the firewall of the data plane; returns whether it changed.
    fn put_together(&mut self) -> bool {
        let table = |kind: Kind, ipv6: bool| {
            let mut desks = self.desks.iter();
            let desk = desks.find(|desk| (desk.which().kind, desk.which().ipv6) == (kind, ipv6));
            desk.map(|desk| desk.table().clone()).unwrap_or_default()
        };
        let tables = |ipv6| Tables {
            raw: table(Kind::Raw, ipv6),
            mangle: table(Kind::Mangle, ipv6),
            nat: table(Kind::Nat, ipv6),
            filter: table(Kind::Filter, ipv6),
        };
        let mut made = dataplane::firewall::Firewall {
            ipv4: tables(false),
            ipv6: tables(true),
            bridge: BridgeTables {
                chip: match self.chips_have_rules {
                    true => table(Kind::Chip, false),
                    false => Arc::clone(&self.none),
                },
                nat: table(Kind::BridgeNat, false),
                filter: table(Kind::BridgeFilter, false),
                detour: self.detour,
                slow: self.bridges_are_slow,
            },
            targets: self.shared.targets.shared(),
            tracks4: self.tracking.is_active(self.has_rules(false)),
            tracks6: self.tracking.is_active(self.has_rules(true)),
            settings: self.tracking.settings.clone(),
            services: self.services.clone(),
            keeps_marks: self.keeps_marks,
            sought: Default::default(),
        };
        let same = is_same(&made, &self.compiled);
        if !same {
            let joining = made.seek_at_once(&self.compiled);
            self.joining = joining.or(self.joining.take());
            self.compiled = Arc::new(made);
        }
        !same
    }

    /// Whether the rules of a family need connection tracking (RouterOS: `enabled=auto`). Raw rules do not need it.
    fn has_rules(&self, ipv6: bool) -> bool {
        let of_family = |desk: &&RuleMenu| {
            let which = desk.which();
            which.is_of(ipv6) && which.kind != Kind::Raw
        };
        self.desks.iter().filter(of_family).any(RuleMenu::is_used)
    }

    /// Returns the menu with this path, if it is a menu of rules.
    pub fn desk(&self, path: &str) -> Option<&RuleMenu> {
        self.desks.iter().find(|desk| desk.which().path == path)
    }

    /// Returns all menus of rules.
    pub fn desks(&self) -> impl Iterator<Item = &RuleMenu> {
        self.desks.iter()
    }

    /// Returns the counters of a rule since its creation or their last reset.
    pub fn hits(&self, number: u32) -> Hits {
        self.shared.numbers.hits(number, self.counters())
    }

    /// Resets the counters of rules.
    pub fn reset(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let all = self.shared.counters.iter().map(|counters| &**counters);
            self.shared.numbers.reset(number, all);
        }
    }

    fn counters(&self) -> impl Iterator<Item = &RuleCounters> + Clone {
        self.shared.counters.iter().map(|counters| &**counters)
    }

    /// Returns the expired entries of address lists, with their menus.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<(&'static str, ItemId)> {
        let mut all = Vec::new();
        for (ipv6, path) in [false, true].into_iter().zip(ADDRESSES) {
            let entries = &mut self.entries[usize::from(ipv6)];
            entries.publish(now, &mut self.shared.lists[usize::from(ipv6)]);
            let lists = self.shared.lists(ipv6);
            let due = self.entries[usize::from(ipv6)].due(now, lists);
            all.extend(due.into_iter().map(|item| (path, item)));
        }
        all
    }

    /// Returns the next time at which an entry of an address list expires, or lists are published.
    pub(crate) fn next_entries(&self) -> Option<Instant> {
        self.entries.iter().filter_map(Entries::deadline).min()
    }

    /// Returns when an entry of an address list was created, and when it expires.
    pub(crate) fn times(
        &self,
        ipv6: bool,
        item: ItemId,
        now: Instant,
    ) -> (Option<Instant>, Option<Instant>) {
        self.entries[usize::from(ipv6)].times(item, now, self.shared.lists(ipv6))
    }

    /// Whether an address is a configured entry of a list.
    pub(crate) fn is_single(&self, ipv6: bool, list: &str, address: u128) -> bool {
        self.entries[usize::from(ipv6)].is_single(list, address)
    }

    /// Adds an address to a list until a time.
    pub(crate) fn list_until(
        &mut self,
        list: &Name,
        address: IpAddr,
        until: Instant,
        now: Instant,
    ) {
        if let Some(list) = self.shared.lists[usize::from(address.is_ipv6())].list(list) {
            // The list counts refused entries when it is full.
            let _ = list.add(value::bits(address), Some(until), now);
        }
    }

    /// The address lists of a family, by name.
    pub(crate) fn address_lists(&self, ipv6: bool) -> impl Iterator<Item = (&Name, &Arc<List>)> {
        self.shared.lists(ipv6).iter()
    }

    /// Whether connections of a family are tracked.
    pub(crate) fn tracks(&self, ipv6: bool) -> bool {
        self.compiled.tracks(ipv6)
    }

    /// Whether a rule fasttracks connections of a family.
    pub(crate) fn fasttracks(&self, ipv6: bool) -> bool {
        let of_family = |desk: &&RuleMenu| desk.which().is_of(ipv6);
        let mut desks = self.desks.iter().filter(of_family);
        self.tracks(ipv6) && desks.any(RuleMenu::fasttracks)
    }

    /// The name of an address list.
    pub(crate) fn list_name(&self, number: u32, ipv6: bool) -> Option<&Name> {
        self.shared.lists(ipv6).name(number)
    }

    /// Returns the chain of the rule with this counter number, and its log prefix.
    pub(crate) fn logs(&self, number: u32) -> Option<(&Name, &str)> {
        let (_, rule) = self.rule(number)?;
        Some((&rule.chain, rule.log.as_deref().unwrap_or_default()))
    }

    /// Returns the rule with this counter number, and its menu.
    pub(crate) fn rule(&self, number: u32) -> Option<(Which, &Rule)> {
        let desk = self.shared.owners.get(&number)?;
        let (desk, item) = (self.desks.get(desk.0)?, desk.1);
        Some((desk.which(), desk.rule(item)?))
    }

    /// Returns the number of a packet mark, which a new mark gets here; `None` if all numbers are taken.
    pub(crate) fn packet_mark_number(&mut self, name: &Name) -> Option<u32> {
        self.shared.packet_marks.number(name)
    }

    /// Returns the number of a packet mark, if a rule uses the mark.
    pub(crate) fn known_packet_mark(&self, name: &str) -> Option<u32> {
        self.shared.packet_marks.known(name)
    }

    /// Returns the number of a connection mark, if a rule uses the mark.
    pub(crate) fn known_connection_mark(&self, name: &str) -> Option<u32> {
        self.shared.connection_marks.known(name)
    }

    /// Returns the item of the rule with this counter number.
    pub(crate) fn item_of(&self, number: u32) -> Option<(&'static str, ItemId)> {
        let (desk, item) = self.shared.owners.get(&number)?;
        Some((self.desks.get(*desk)?.which().path, *item))
    }

    /// Returns the name of a packet mark.
    pub fn packet_mark(&self, number: u32) -> Option<&Name> {
        self.shared.packet_marks.name(number)
    }

    /// Returns the name of a connection mark.
    pub fn connection_mark(&self, number: u32) -> Option<&Name> {
        self.shared.connection_marks.name(number)
    }
}

/// Whether a menu belongs to the firewall.
pub fn is_about(path: &str) -> bool {
    path.starts_with("/ip/firewall/")
        || path.starts_with("/ipv6/firewall/")
        || link::MENUS.contains(&path)
        || path == chip::MENU
}

fn names_changed_pattern(rule: &Rule, changes: &Changes) -> bool {
    let both = changes.of(PATTERNS);
    let names = both.flat_map(|change| [&change.before, &change.after]);
    let mut names = names.flatten().filter_map(|item| item.name());
    names.any(|name| rule.names_pattern(name))
}

fn world<'a>(
    around: &Around<'a>,
    sets: &'a Sets,
    patterns: &'a BTreeMap<Name, Layer7>,
) -> World<'a> {
    World {
        sets,
        tables: around.tables,
        patterns,
    }
}

/// Reads the layer-7 patterns; returns errors of invalid ones.
fn patterns(store: &Store) -> (BTreeMap<Name, Layer7>, Vec<String>) {
    let (mut good, mut complaints) = (BTreeMap::new(), Vec::new());
    for item in store.items(PATTERNS) {
        let name = item.name().unwrap_or_default();
        match Layer7::new(name, item.text("regexp")) {
            Ok(pattern) => {
                good.insert(Name::from(name), pattern);
            }
            Err(why) => complaints.push(format!("layer7 pattern {name} cannot run: {why}")),
        }
    }
    (good, complaints)
}

/// Whether two compiled firewalls are equal for workers.
fn is_same(a: &dataplane::firewall::Firewall, b: &dataplane::firewall::Firewall) -> bool {
    let same = |a: &Tables, b: &Tables| {
        let pairs = [
            (&a.raw, &b.raw),
            (&a.mangle, &b.mangle),
            (&a.nat, &b.nat),
            (&a.filter, &b.filter),
        ];
        pairs.iter().all(|(a, b)| Arc::ptr_eq(a, b))
    };
    same(&a.ipv4, &b.ipv4)
        && same(&a.ipv6, &b.ipv6)
        && Arc::ptr_eq(&a.bridge.chip, &b.bridge.chip)
        && Arc::ptr_eq(&a.bridge.nat, &b.bridge.nat)
        && Arc::ptr_eq(&a.bridge.filter, &b.bridge.filter)
        && a.bridge.detour == b.bridge.detour
        && a.keeps_marks == b.keeps_marks
        && Arc::ptr_eq(&a.targets, &b.targets)
        && (a.tracks4, a.tracks6) == (b.tracks4, b.tracks6)
        && a.settings == b.settings
        && a.services == b.services
}
