//! The firewall's control side: from items to what the data plane runs, and back to what is shown.
//!
//! ```text
//! items ─read─▶ Rule (names) ─resolve─▶ rule::Rule (numbers) ─▶ Table ─▶ dataplane::Firewall
//!   Desk: a menu's rules by item, in order                     Numbers: counters ◀─ workers
//! ```
//!
//! A transaction's changes are followed one by one: of ten thousand rules only those are read and
//! compiled that it touched. What rules name (interfaces and lists of them, routing tables) comes
//! from the layout; when that changes, the rules that name it are compiled anew and keep what they
//! remember.

mod addresses;
mod assembly;
mod chip;
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
use resolve::World;
use rule::Rule;
use sets::{Difference, Sets};
use table::{Kind, MENUS, Shared};

pub(crate) use link::{kind_name, kinds as kinds_of};
pub use numbers::Hits;
pub(crate) use sets::{Others, is_in};
pub use table::{Desk, Which};
pub use tracking::Tracking;
pub use value::protocol_name;
pub(crate) use value::{helper as helper_of, nat_states, protocol as protocol_of, tcp_flags};

pub(crate) const ADDRESSES: [&str; 2] =
    ["/ip/firewall/address-list", "/ipv6/firewall/address-list"];
const PATTERNS: &str = "/ip/firewall/layer7-protocol";

/// What rules can name, as it is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// What is configured.
    pub intent: &'a Intent,
    /// The interfaces.
    pub layout: &'a Layout,
    /// The routing tables that forward.
    pub tables: &'a BTreeMap<Name, u16>,
    /// The time.
    pub now: Instant,
}

/// See the module.
#[derive(Debug)]
pub struct Firewall {
    desks: Vec<Desk>,
    shared: Shared,
    sets: Sets,
    reclassified: BTreeSet<InterfaceId>,
    entries: [Entries; 2],
    patterns: BTreeMap<Name, Layer7>,
    /// What users are to be told.
    complaints: Vec<String>,
    tracking: Tracking,
    services: Services,
    detour: Detour,
    /// Some switch chip of the board does rules.
    pub(crate) chips_have_rules: bool,
    none: Arc<dataplane::rule::Table>,
    /// Bridges take no fast path.
    bridges_are_slow: bool,
    /// Queues read packet marks.
    keeps_marks: bool,
    joining: Option<Joining>,
    compiled: Arc<dataplane::firewall::Firewall>,
}

impl Firewall {
    /// A firewall without rules; workers count there.
    pub fn new(counters: Vec<Arc<RuleCounters>>) -> Self {
        Self {
            desks: MENUS.into_iter().map(Desk::new).collect(),
            shared: Shared {
                counters,
                ..Shared::default()
            },
            sets: Sets::default(),
            reclassified: BTreeSet::new(),
            entries: Default::default(),
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

    /// What users are to be told, once.
    pub(crate) fn take_complaints(&mut self) -> Vec<String> {
        core::mem::take(&mut self.complaints)
    }

    /// What rules look for in streams and what is to be compiled a second time, once.
    pub(crate) fn take_joining(&mut self) -> Option<Joining> {
        self.joining.take()
    }

    /// Takes over what came of that; says whether workers must be told: it may be out of date.
    pub(crate) fn hear_joined(&mut self, joined: &Joined) -> bool {
        let Some(sought) = self.compiled.sought.with(joined) else {
            return false;
        };
        let compiled = (*self.compiled).clone();
        self.compiled = Arc::new(dataplane::firewall::Firewall { sought, ..compiled });
        true
    }

    /// What the data plane runs.
    pub const fn compiled(&self) -> &Arc<dataplane::firewall::Firewall> {
        &self.compiled
    }

    /// Connection tracking as it is set.
    pub const fn tracking(&self) -> &Tracking {
        &self.tracking
    }

    /// Takes over a configuration.
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

    /// Takes over what a transaction changed; says whether workers must be told.
    pub fn follow(&mut self, store: &Store, changes: &Changes, around: &Around<'_>) -> bool {
        let about = |change: &Change| is_about(change.menu.path);
        if !changes.list.iter().any(about) {
            return false;
        }
        for (ipv6, path) in ADDRESSES.into_iter().enumerate() {
            let lists = &mut self.shared.lists;
            self.entries[ipv6].follow(changes, path, around.now, &mut lists[ipv6]);
        }
        // Rules have their lists by reference: entries change no rule.
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

    /// A rule comes in front of those of a menu, behind others that were made.
    pub(crate) fn make(&mut self, path: &str, id: Id, values: &[(&'static str, Value)]) {
        let mut menus = schema::ALL.iter().copied();
        let menu = menus.find(|menu| menu.path == path);
        let desk = { self.desks.iter_mut() }.find(|desk| desk.which().path == path);
        if let (Some(menu), Some(desk)) = (menu, desk) {
            desk.make(Item::made(menu, id, values), &mut self.shared);
        }
    }

    /// A rule that was made goes.
    pub(crate) fn unmake(&mut self, path: &str, id: ItemId) {
        let mut desks = self.desks.iter_mut();
        if let Some(desk) = desks.find(|desk| desk.which().path == path) {
            desk.unmake(id, &mut self.shared);
        }
    }

    /// Takes over the rules that were made, or went; says whether workers must be told.
    pub(crate) fn follow_made(&mut self, around: &Around<'_>) -> bool {
        let others: Vec<_> = self.desks.iter_mut().map(Desk::take_made_others).collect();
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

    /// All interfaces and lists.
    #[cfg(test)]
    pub(crate) fn everything(&self, around: &Around<'_>) -> Others {
        self.sets.everything(around.intent, around.layout)
    }

    /// Hears that interfaces or lists of them may be others, or routing tables.
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

    /// What rules know an interface by.
    pub(crate) fn class(&self, id: InterfaceId) -> Class {
        self.sets.class(id)
    }

    /// What rules know an interface by, in words.
    #[cfg(test)]
    pub(crate) fn known(&self, id: InterfaceId) -> Vec<Name> {
        self.sets.known(id)
    }

    /// The interfaces that rules know by another class since this was asked last.
    pub(crate) fn take_reclassified(&mut self) -> BTreeSet<InterfaceId> {
        core::mem::take(&mut self.reclassified)
    }

    /// Finds the classes of these interfaces anew, and of those that rules name now and did not before, or the other
    /// way round. Returns what rules know otherwise by that.
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

    /// Packets keep their marks from now on, for queues that read them.
    pub(crate) fn keep_marks(&mut self) {
        if !core::mem::replace(&mut self.keeps_marks, true) {
            self.put_together();
        }
    }

    /// Makes what workers run; says whether it is other than before.
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

    /// Whether rules of a family want connections tracked (RouterOS: `enabled=auto`). Raw rules are
    /// there to do without.
    fn has_rules(&self, ipv6: bool) -> bool {
        let of_family = |desk: &&Desk| {
            let which = desk.which();
            which.is_of(ipv6) && which.kind != Kind::Raw
        };
        self.desks.iter().filter(of_family).any(Desk::is_used)
    }

    /// The menu of this path, if it is one of rules.
    pub fn desk(&self, path: &str) -> Option<&Desk> {
        self.desks.iter().find(|desk| desk.which().path == path)
    }

    /// All menus of rules.
    pub fn desks(&self) -> impl Iterator<Item = &Desk> {
        self.desks.iter()
    }

    /// What a rule has counted since it was made, or its counters were reset.
    pub fn hits(&self, number: u32) -> Hits {
        self.shared.numbers.hits(number, self.counters())
    }

    /// Lets rules count from here on.
    pub fn reset(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let all = self.shared.counters.iter().map(|counters| &**counters);
            self.shared.numbers.reset(number, all);
        }
    }

    fn counters(&self) -> impl Iterator<Item = &RuleCounters> + Clone {
        self.shared.counters.iter().map(|counters| &**counters)
    }

    /// The entries of address lists whose time is over, each with its menu.
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

    /// When there is something to do about address lists: an entry ends, or a list is published.
    pub(crate) fn next_entries(&self) -> Option<Instant> {
        self.entries.iter().filter_map(Entries::deadline).min()
    }

    /// When an entry of an address list was made, and when it ends.
    pub(crate) fn times(
        &self,
        ipv6: bool,
        item: ItemId,
        now: Instant,
    ) -> (Option<Instant>, Option<Instant>) {
        self.entries[usize::from(ipv6)].times(item, now, self.shared.lists(ipv6))
    }

    /// Whether an address is an entry of a list by itself.
    pub(crate) fn is_single(&self, ipv6: bool, list: &str, address: u128) -> bool {
        self.entries[usize::from(ipv6)].is_single(list, address)
    }

    /// Takes an address into a list by a name that has it, or out of it again.
    pub(crate) fn enter_named(&mut self, ipv6: bool, list: &Name, address: u128, comes: bool) {
        if let Some(list) = self.shared.lists[usize::from(ipv6)].list(list) {
            match comes {
                true => _ = list.enter_named(address),
                false => _ = list.remove_named(address),
            }
        }
    }

    /// Puts an address into a list until a time.
    pub(crate) fn list_until(
        &mut self,
        list: &Name,
        address: IpAddr,
        until: Instant,
        now: Instant,
    ) {
        if let Some(list) = self.shared.lists[usize::from(address.is_ipv6())].list(list) {
            // Without room it is counted as refused.
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
        let of_family = |desk: &&Desk| desk.which().is_of(ipv6);
        let mut desks = self.desks.iter().filter(of_family);
        self.tracks(ipv6) && desks.any(Desk::fasttracks)
    }

    /// The name of an address list.
    pub(crate) fn list_name(&self, number: u32, ipv6: bool) -> Option<&Name> {
        self.shared.lists(ipv6).name(number)
    }

    /// The chain of the rule that is counted under this number, and what its lines begin with.
    pub(crate) fn logs(&self, number: u32) -> Option<(&Name, &str)> {
        let (_, rule) = self.rule(number)?;
        Some((&rule.chain, rule.log.as_deref().unwrap_or_default()))
    }

    /// The rule that is counted under this number, and its menu.
    pub(crate) fn rule(&self, number: u32) -> Option<(Which, &Rule)> {
        let desk = self.shared.owners.get(&number)?;
        let (desk, item) = (self.desks.get(desk.0)?, desk.1);
        Some((desk.which(), desk.rule(item)?))
    }

    /// The number of a packet's mark, given if it has none; none if all are taken.
    pub(crate) fn packet_mark_number(&mut self, name: &Name) -> Option<u32> {
        self.shared.packet_marks.number(name)
    }

    /// The number of a packet's mark, if a rule names it.
    pub(crate) fn known_packet_mark(&self, name: &str) -> Option<u32> {
        self.shared.packet_marks.known(name)
    }

    /// The number of a connection's mark, if a rule names it.
    pub(crate) fn known_connection_mark(&self, name: &str) -> Option<u32> {
        self.shared.connection_marks.known(name)
    }

    /// The item of the rule that is counted under this number.
    pub(crate) fn item_of(&self, number: u32) -> Option<(&'static str, ItemId)> {
        let (desk, item) = self.shared.owners.get(&number)?;
        Some((self.desks.get(*desk)?.which().path, *item))
    }

    /// The name of a packet's mark.
    pub fn packet_mark(&self, number: u32) -> Option<&Name> {
        self.shared.packet_marks.name(number)
    }

    /// The name of a connection's mark.
    pub fn connection_mark(&self, number: u32) -> Option<&Name> {
        self.shared.connection_marks.name(number)
    }
}

/// Whether a menu is the firewall's.
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

/// The patterns of streams, and what is wrong with those that cannot run.
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

/// Whether workers would not see a difference.
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
