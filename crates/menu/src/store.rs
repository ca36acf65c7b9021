//! The configuration store: the items of all menus, changed by transactions.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use crate::effect::Networks;
use crate::history::History;
use crate::revert::is_change;
use crate::safe_mode::Hold;
use crate::table::{TAIL, Table};
use crate::{Change, Journal, Menu, MenuShape, NoJournal, Property, Reason, Sealed, Value};

/// The seal that no password opens: a password was set and is unknown.
pub const NO_SEAL: &str = "!";

/// The id of an item, printed as `*1F`. Ids are never reused in a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u64);

impl Id {
    /// The id of the single item of a settings menu.
    pub const SETTINGS: Self = Self(0);

    /// Parses an id such as `*1F`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('*')?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !plain {
            return None;
        }
        u64::from_str_radix(digits, 16).ok().map(Self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "*{:X}", self.0)
    }
}

/// An item of a menu: values by property, with defaults filled in.
#[derive(Clone, Debug)]
pub struct Item {
    /// The menu.
    pub menu: &'static Menu,
    /// The id.
    pub id: Id,
    /// Index among the menu's default items, if the item is one.
    pub builtin: Option<usize>,
    pub(crate) position: u64,
    pub(crate) values: Box<[Option<Value>]>,
}

impl Item {
    /// Creates an item outside a store, for items that the router generates. Values of unknown properties are
    /// ignored.
    pub fn made(menu: &'static Menu, id: Id, values: &[(&'static str, Value)]) -> Self {
        let mut places = vec![None; menu.all_properties().count()];
        for (name, value) in values {
            if let Some(place) = menu.index(name) {
                places[place] = Some(value.clone());
            }
        }
        Self {
            menu,
            id,
            builtin: None,
            position: 0,
            values: places.into(),
        }
    }

    /// The position in the order of the menu.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the value of a property; `None` if unset.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(self.menu.index(name)?)?.as_ref()
    }

    /// True if a Boolean property is true.
    pub fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the text, word or name of a property; empty if unset.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the integer value of a property.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Value::as_number)
    }

    /// Returns the item's name, if its menu has a key property.
    pub fn name(&self) -> Option<&str> {
        self.get(self.menu.key?)?.as_str()
    }

    /// True if the item is a port, which exists because the hardware has it.
    pub fn is_port(&self) -> bool {
        !self.menu.ports.is_empty() && !self.text("default-name").is_empty()
    }

    /// True if the item has internal values, which no command can set. False for settings, which exist in any
    /// case: their internal values are kept.
    pub fn has_kept(&self) -> bool {
        let mut kept = self.menu.kept.iter();
        self.menu.shape != MenuShape::Settings
            && kept.any(|property| self.get(property.name).is_some())
    }

    /// Returns the properties that are set.
    pub fn values(&self) -> impl Iterator<Item = (&'static Property, &Value)> {
        let menu = self.menu;
        menu.all_properties()
            .zip(&self.values)
            .filter_map(|(p, value)| Some((p, value.as_ref()?)))
    }

    /// True if all values equal those of the other item; ids and positions are ignored.
    pub fn same_values(&self, other: &Self) -> bool {
        self.menu.path == other.menu.path && self.values == other.values
    }
}

/// Converts a password to a seal for storage, from which the password can only be guessed. Refuses invalid
/// passwords. Arguments: store, name of the owner if it is known, password. The result is a [`Sealed`](crate::Sealed).
pub type MakeSeal = fn(&Store, Option<&str>, &str) -> Result<String, Reason>;

/// True if the text is the sealed password. Arguments: seal, text.
pub type VerifySeal = fn(&str, &str) -> bool;

/// A savepoint in the open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a transaction is committed or rolled back"]
pub struct Mark {
    pub(crate) depth: usize,
    pub(crate) len: usize,
}

/// A name space shared by several menus, such as that of all interfaces.
#[derive(Default)]
pub(crate) struct Space {
    pub(crate) names: BTreeMap<Box<str>, (usize, Id)>,
    /// The items that refer to a name.
    pub(crate) users: BTreeMap<Box<str>, BTreeSet<(usize, Id)>>,
    /// The menus whose items have names in this space.
    pub(crate) tables: Vec<usize>,
}

/// Undo record: the previous state of an item.
pub(crate) struct Undo {
    table: usize,
    id: Id,
    before: Option<Arc<Item>>,
}

/// The configuration of a router.
///
/// Every change happens in a transaction: [`Store::begin`], edits, then [`Store::commit`] or
/// [`Store::rollback`]. Transactions nest; only the outermost commit is journaled and increments the revision.
pub struct Store {
    pub(crate) tables: Vec<Table>,
    pub(crate) spaces: BTreeMap<&'static str, Space>,
    pub(crate) next_ids: Vec<u64>,
    pub(crate) revision: u64,
    pub(crate) paths: BTreeMap<&'static str, usize>,
    /// Cache for groups: the menu that causes a group to have no effect. Cleared by each change.
    pub(crate) gathered: RefCell<BTreeMap<(usize, Id), Option<&'static Menu>>>,
    /// Cache of the networks of interface addresses. Cleared when addresses or names change.
    pub(crate) networks: RefCell<Option<Networks>>,
    menus: &'static [&'static Menu],
    pub(crate) undo: Vec<Undo>,
    pub(crate) depth: usize,
    /// Set while others than the owner of the open transaction have the store.
    pub(crate) read_only: bool,
    /// True if transactions are stored with the next [`Store::sync`].
    pub(crate) defers: bool,
    pub(crate) journal: Box<dyn Journal>,
    pub(crate) history: History,
    pub(crate) hold: Option<Hold>,
    pub(crate) seal: MakeSeal,
    opens: VerifySeal,
}

impl Store {
    /// Creates a store with the default configuration of these menus. It stores nothing on disk.
    pub fn new(menus: &'static [&'static Menu]) -> Self {
        let mut store = Self {
            tables: Vec::with_capacity(menus.len()),
            spaces: BTreeMap::new(),
            next_ids: Vec::new(),
            revision: 0,
            paths: BTreeMap::new(),
            gathered: RefCell::default(),
            networks: RefCell::default(),
            menus,
            undo: Vec::new(),
            depth: 0,
            read_only: false,
            defers: false,
            journal: Box::new(NoJournal),
            history: History::default(),
            hold: None,
            seal: |_, _, _| Ok(NO_SEAL.to_owned()),
            opens: |_, _| false,
        };
        let mut domains = BTreeMap::new();
        for menu in menus {
            store.declare(menu, &mut domains);
        }
        for (follower, menu) in menus.iter().enumerate() {
            for follow in menu.follows {
                if let Some(index) = store.paths.get(follow.path) {
                    store.tables[*index].followers.push(follower);
                }
            }
        }
        store.fill();
        store
    }

    /// Sets the functions that seal and verify passwords. By default passwords are replaced by [`NO_SEAL`],
    /// which suffices for checking a configuration.
    pub fn set_seal(&mut self, seal: MakeSeal, opens: VerifySeal) {
        (self.seal, self.opens) = (seal, opens);
    }

    /// Seals a password; an empty one stays empty. `owner` is the name of its item, if it is known.
    ///
    /// # Errors
    /// The password is not permitted.
    pub fn seal(&self, owner: Option<&str>, text: &str) -> Result<Value, Reason> {
        match text {
            "" => Ok(Value::text("")),
            text => (self.seal)(self, owner, text).map(Value::text),
        }
    }

    /// True if a text is the sealed password. An empty seal matches the empty text only.
    pub fn is_opened(&self, seal: &str, text: &str) -> bool {
        match seal {
            "" => text.is_empty(),
            seal => (self.opens)(Sealed::parse(seal).seal, text),
        }
    }

    /// Sets the journal that makes following transactions durable.
    pub fn set_journal(&mut self, journal: Box<dyn Journal>) {
        self.journal = journal;
    }

    /// All menus in the order of exports.
    pub const fn menus(&self) -> &'static [&'static Menu] {
        self.menus
    }

    /// Returns the menu with a path such as `/ip/address`.
    pub fn menu(&self, path: &str) -> Option<&'static Menu> {
        self.paths.get(path).map(|index| self.tables[*index].menu)
    }

    /// Number of transactions with changes.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the items of a menu in order; none if there is no such menu.
    pub fn items(&self, path: &str) -> impl Iterator<Item = &Arc<Item>> {
        let table = self.paths.get(path).map(|index| &self.tables[*index]);
        table
            .into_iter()
            .flat_map(|t| t.order.values().filter_map(|id| t.items.get(id)))
    }

    /// Returns the number of items of a menu.
    pub fn count(&self, path: &str) -> usize {
        self.paths
            .get(path)
            .map_or(0, |index| self.tables[*index].items.len())
    }

    /// Returns the item with an id; for a view, the item of the menu that owns it.
    pub fn item(&self, path: &str, id: Id) -> Option<&Arc<Item>> {
        let index = self.owner(*self.paths.get(path)?, id)?;
        self.tables[index].items.get(&id)
    }

    /// Returns the single item of a settings menu.
    pub fn settings(&self, path: &str) -> Option<&Arc<Item>> {
        self.item(path, Id::SETTINGS)
    }

    /// Returns the item with this name in a name space such as `interface`.
    pub fn named(&self, space: &str, name: &str) -> Option<&Arc<Item>> {
        let (table, id) = self.spaces.get(space)?.names.get(name)?;
        self.tables[*table].items.get(id)
    }

    /// Returns the item of a menu with this key, also in menus without a name space.
    pub fn by_name(&self, menu: &'static Menu, name: &str) -> Option<Id> {
        if let Some(space) = menu.space {
            let item = self.named(space, name)?;
            return (menu.shape == MenuShape::View || item.menu.path == menu.path)
                .then_some(item.id);
        }
        let key = menu.key?;
        if !menu.follows.is_empty() {
            // The key refers to an item of another menu: look it up among the references to that item.
            let space = menu.property(key)?.kind.space()?;
            let index = self.index_of(menu)?;
            let users = self.spaces.get(space)?.users.get(name);
            let of = users.and_then(|users| users.iter().find(|(table, _)| *table == index));
            let is_own = |item: &&Arc<Item>| item.builtin.is_some() && item.name() == Some(name);
            return match of {
                Some((_, id)) => Some(*id),
                None => { self.items(menu.path) }.find(is_own).map(|item| item.id),
            };
        }
        // Menus with keys outside any name space declare them unique, or are short.
        self.items(menu.path)
            .find(|i| i.get(key).and_then(Value::as_str) == Some(name))
            .map(|i| i.id)
    }

    /// Returns all names of a name space, sorted.
    pub fn names(&self, space: &str) -> impl Iterator<Item = &str> {
        self.spaces
            .get(space)
            .into_iter()
            .flat_map(|s| s.names.keys().map(|name| &**name))
    }

    /// Returns the names of a name space that begin with a prefix, sorted.
    pub fn names_from<'a>(&'a self, space: &str, begun: &'a str) -> impl Iterator<Item = &'a str> {
        let from = (Bound::Included(begun), Bound::Unbounded);
        let names = self.spaces.get(space).map(|space| &space.names);
        let names = names
            .into_iter()
            .flat_map(move |names| names.range::<str, _>(from));
        let names = names.map(|(name, _)| &**name);
        names.take_while(move |name| name.starts_with(begun))
    }

    /// Returns the items of all menus of a name space, menu by menu.
    pub fn members(&self, space: &str) -> impl Iterator<Item = &Arc<Item>> {
        let tables = self.spaces.get(space).map_or(&[][..], |s| &s.tables[..]);
        tables.iter().flat_map(|index| {
            let table = &self.tables[*index];
            table.order.values().filter_map(|id| table.items.get(id))
        })
    }

    /// Begins a transaction, or a nested part of the open one.
    pub const fn begin(&mut self) -> Mark {
        self.depth += 1;
        Mark {
            depth: self.depth,
            len: self.undo.len(),
        }
    }

    /// True if a transaction is open.
    pub const fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Rolls back all changes since the mark.
    pub fn rollback(&mut self, mark: Mark) {
        while self.undo.len() > mark.len {
            if let Some(step) = self.undo.pop() {
                self.exchange(step.table, step.id, step.before);
            }
        }
        self.depth = mark.depth.saturating_sub(1);
    }

    /// Ends the transaction and keeps its changes, without journal and history.
    pub(crate) fn forget(&mut self, mark: Mark) {
        self.undo.truncate(mark.len);
        self.depth = mark.depth.saturating_sub(1);
    }

    pub(crate) fn index_of(&self, menu: &'static Menu) -> Option<usize> {
        self.paths.get(menu.path).copied()
    }

    /// Returns the table that holds an item: the menu's table, or for a view a table of the name space.
    pub(crate) fn owner(&self, index: usize, id: Id) -> Option<usize> {
        let table = &self.tables[index];
        if table.menu.shape != MenuShape::View {
            return table.items.contains_key(&id).then_some(index);
        }
        let space = self.spaces.get(table.menu.space?)?;
        space
            .tables
            .iter()
            .copied()
            .find(|index| self.tables[*index].items.contains_key(&id))
    }

    /// Assigns the next id in a menu.
    pub(crate) fn fresh_id(&mut self, table: usize) -> Id {
        let next = &mut self.next_ids[self.tables[table].domain];
        *next += 1;
        Id(*next)
    }

    /// Inserts, replaces or (with `None`) removes an item, and adds an undo record.
    pub(crate) fn put(&mut self, table: usize, id: Id, item: Option<Arc<Item>>) {
        let before = self.exchange(table, id, item);
        self.undo.push(Undo { table, id, before });
    }

    pub(crate) fn exchange(
        &mut self,
        table: usize,
        id: Id,
        item: Option<Arc<Item>>,
    ) -> Option<Arc<Item>> {
        self.gathered.get_mut().clear();
        // Routes change by the thousand, and do not affect the networks of interfaces.
        let menu = self.tables[table].menu;
        if menu.networks.is_some() || menu.space.is_some() {
            *self.networks.get_mut() = None;
        }
        let before = self.tables[table].items.get(&id).cloned();
        if let Some(item) = &before {
            self.tables[table].unlink(item);
            self.unlink_names(table, item);
        }
        if let Some(item) = &item {
            self.tables[table].link(item);
            self.link_names(table, item);
        }
        before
    }

    fn link_names(&mut self, table: usize, item: &Item) {
        if let (Some(space), Some(name)) = (item.menu.space, item.name()) {
            let space = self.spaces.entry(space).or_default();
            space.names.insert(name.into(), (table, item.id));
        }
        for (space, name) in references(item) {
            let users = &mut self.spaces.entry(space).or_default().users;
            users
                .entry(name.into())
                .or_default()
                .insert((table, item.id));
        }
    }

    fn unlink_names(&mut self, table: usize, item: &Item) {
        if let (Some(space), Some(name)) = (item.menu.space, item.name())
            && let Some(space) = self.spaces.get_mut(space)
            && space.names.get(name) == Some(&(table, item.id))
        {
            space.names.remove(name);
        }
        for (space, name) in references(item) {
            let Some(space) = self.spaces.get_mut(space) else {
                continue;
            };
            if let Some(users) = space.users.get_mut(name) {
                users.remove(&(table, item.id));
                if users.is_empty() {
                    space.users.remove(name);
                }
            }
        }
    }

    /// Returns the net changes since the mark, each item once.
    pub fn changes_since(&self, mark: Mark) -> Vec<Change> {
        let mut first: BTreeMap<(usize, Id), usize> = BTreeMap::new();
        let mut list = Vec::new();
        for step in self.undo.iter().skip(mark.len) {
            let next = list.len();
            if *first.entry((step.table, step.id)).or_insert(next) == next {
                let table = &self.tables[step.table];
                let after = table.items.get(&step.id).cloned();
                list.push(Change {
                    menu: table.menu,
                    id: step.id,
                    before: step.before.clone(),
                    after,
                });
            }
        }
        list.retain(is_change);
        list
    }

    fn declare(&mut self, menu: &'static Menu, domains: &mut BTreeMap<&'static str, usize>) {
        let index = self.tables.len();
        let own = self.next_ids.len();
        let domain = menu
            .space
            .map_or(own, |space| *domains.entry(space).or_insert(own));
        if domain == own {
            self.next_ids.push(0);
        }
        if let Some(space) = menu.space {
            let space = self.spaces.entry(space).or_default();
            if menu.shape != MenuShape::View {
                space.tables.push(index);
            }
        }
        self.paths.insert(menu.path, index);
        self.tables.push(Table::new(menu, domain));
    }

    /// Adds the default configuration: settings, and the menus' default items.
    fn fill(&mut self) {
        let mark = self.begin();
        for index in 0..self.tables.len() {
            let menu = self.tables[index].menu;
            if menu.shape == MenuShape::Settings {
                let values = self.tables[index].defaults.clone().into();
                let item = Item {
                    menu,
                    id: Id::SETTINGS,
                    builtin: None,
                    position: 1,
                    values,
                };
                self.put(index, Id::SETTINGS, Some(Arc::new(item)));
            }
            for builtin in 0..menu.builtin.len() {
                self.make_builtin(index, builtin);
            }
        }
        self.forget(mark);
    }

    pub(crate) fn make_builtin(&mut self, index: usize, builtin: usize) {
        let menu = self.tables[index].menu;
        let own = menu.builtin.get(builtin).and_then(|b| b.values.first());
        let own = own.filter(|(name, _)| *name == ".id");
        let id = own.and_then(|(_, id)| Id::parse(id));
        let id = id.unwrap_or_else(|| self.fresh_id(index));
        let position = match menu.follows.is_empty() {
            true => self.tables[index].last(),
            false => TAIL + builtin as u64,
        };
        let values = self.baseline(index, Some(builtin)).into();
        self.put(
            index,
            id,
            Some(Arc::new(Item {
                menu,
                id,
                builtin: Some(builtin),
                position,
                values,
            })),
        );
    }

    /// Returns the default values of an item. The default name of a port is its `default-name`.
    pub(crate) fn baseline_of(&self, item: &Item) -> Vec<Option<Value>> {
        let Some(index) = self.index_of(item.menu) else {
            return Vec::new();
        };
        let mut values = self.baseline(index, item.builtin);
        let key = item.menu.key.and_then(|key| item.menu.index(key));
        if let Some(place) = key.filter(|_| item.is_port()) {
            values[place] = item.get("default-name").cloned();
        }
        if let (Some(place), false) = (key, item.menu.follows.is_empty()) {
            values[place].clone_from(&item.values[place]);
            self.begin_as(item.menu, item.name().unwrap_or_default(), &mut values);
        }
        values
    }

    /// Returns the default values in a table, for a default item if `builtin` is set.
    pub(crate) fn baseline(&self, index: usize, builtin: Option<usize>) -> Vec<Option<Value>> {
        let table = &self.tables[index];
        let mut values = table.defaults.clone();
        let given = builtin.and_then(|number| table.menu.builtin.get(number));
        for (name, text) in given.map_or(&[][..], |builtin| builtin.values) {
            let Some(place) = table.menu.index(name) else {
                continue;
            };
            values[place] = table.properties[place].kind.parse(name, text).ok();
        }
        values
    }
}

/// Returns the names of other items that an item refers to, each with its name space.
pub(crate) fn references(item: &Item) -> Vec<(&'static str, &str)> {
    let mut found = Vec::new();
    for (property, value) in item.values() {
        if property.kind.refers() {
            refers_to(&property.kind.spaces(), value, &mut found);
        }
    }
    found
}

fn refers_to<'v>(
    spaces: &[&'static str],
    value: &'v Value,
    found: &mut Vec<(&'static str, &'v str)>,
) {
    match value {
        Value::Reference(name) => found.extend(spaces.iter().map(|space| (*space, &**name))),
        Value::Gateway(gateway) => {
            let space = spaces.first().copied().unwrap_or_default();
            found.extend(gateway.interface.as_deref().map(|name| (space, name)));
            found.extend(gateway.table.as_deref().map(|name| ("routing-table", name)));
        }
        Value::Tuple(_, values) => values.iter().for_each(|v| refers_to(spaces, v, found)),
        Value::List(values) => values.iter().for_each(|v| refers_to(spaces, v, found)),
        Value::Not(value) => refers_to(spaces, value, found),
        _ => {}
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}
