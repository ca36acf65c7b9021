//! What of a configuration comes to nothing, and why: items of menus without effect, values that do
//! nothing, and what stands on such items alone.
//!
//! Everything follows from the store when it is asked: nothing has to be kept up to date. An item is
//! looked at by its own values and by the names in them; only what gathers others (an interface
//! list) is remembered, until the next change.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use ipnet::IpNet;

use crate::export::is_written;
use crate::{Effect, Id, Item, Menu, Property, Row, RowFilter, Scan, Shape, Store, Value};

/// A part of what RouterOS does, in users' words.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// What users call it: `bridges`.
    pub name: &'static str,
    /// The menus that it has, with all below them; the longest path that fits counts.
    pub menus: &'static [&'static str],
}

/// Why an item does not do what it says. Its text says what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The part that is missing, in users' words.
    pub area: &'static str,
    /// What of the item that concerns.
    pub cause: Cause,
}

/// What of an item has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// All of it: its menu does nothing.
    Menu,
    /// What its menu says of an item as a whole, such as a service that is not there.
    Item(&'static str),
    /// The values of these properties.
    Values(Vec<&'static str>),
    /// All of it: what this property names does nothing.
    Named(&'static str, String),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Menu => f.write_str(self.area),
            Cause::Item(what) => f.write_str(what),
            Cause::Values(names) => f.write_str(&names.join(", ")),
            Cause::Named(property, name) => write!(f, "{} ({property}={name})", self.area),
        }
    }
}

/// What values are counted as that do nothing, in menus that belong to no part that is missing.
const SINGLE: &str = "single values";

/// Items that are named by each other, one behind the other: a VLAN of a VLAN of a bridge.
const DEEPEST: usize = 8;

/// Items that are looked at before others have their turn at the router.
const LOOKED_AT: usize = 4_096;

/// Values that tell an item without a name from others.
const TELLING: usize = 4;

/// Networks, and the menus for whose sake they are not reached.
pub(crate) type Networks = BTreeMap<IpNet, Option<&'static Menu>>;

impl Store {
    /// Names the parts that menus belong to.
    pub fn set_areas(&mut self, areas: &[Area]) {
        for table in &mut self.tables {
            let own = |area: &Area| {
                let paths = area.menus.iter().map(|path| (*path, area.name));
                let fits = paths.filter(|(path, _)| is_at_or_below(table.menu.path, path));
                fits.max_by_key(|(path, _)| path.len())
            };
            let longest = areas.iter().filter_map(own);
            let longest = longest.max_by_key(|(path, _)| path.len());
            table.area = longest.map_or(table.menu.path, |(_, name)| name);
        }
    }

    /// What users call the part that a menu belongs to; its path where nobody has named it.
    pub fn area(&self, menu: &'static Menu) -> &'static str {
        let index = self.index_of(menu);
        index.map_or(menu.path, |index| self.tables[index].area)
    }

    /// Why an item does not do what it says, if it does not. One that is disabled is looked at as if
    /// it were not.
    pub fn lack(&self, item: &Item) -> Option<Lack> {
        let lack = |menu, cause| {
            let area = self.area(menu);
            Some(Lack { area, cause })
        };
        if item.menu.effect == Effect::None {
            let is_off = item.menu.is_off(item);
            return if is_off {
                None
            } else {
                lack(item.menu, Cause::Menu)
            };
        }
        if let Some((property, name, root)) = self.rests_on(item, DEEPEST) {
            return lack(root, Cause::Named(property, name));
        }
        if let Some(what) = item.menu.idle.and_then(|idle| idle(item)) {
            return lack(item.menu, Cause::Item(what));
        }
        let values = item
            .values()
            .filter(|(property, value)| property.is_idle(value));
        let names: Vec<_> = values.map(|(property, _)| property.name).collect();
        let area = match self.area(item.menu) {
            path if path.starts_with('/') => SINGLE,
            area => area,
        };
        (!names.is_empty()).then_some(Lack {
            area,
            cause: Cause::Values(names),
        })
    }

    /// The first property that names nothing but items without effect, what it names first, and the
    /// menu that they come from in the end.
    fn rests_on(&self, item: &Item, deep: usize) -> Option<(&'static str, String, &'static Menu)> {
        let mut named = item.values().filter(|(property, _)| {
            property.kind.refers() && !property.apart && property.effect == Effect::Full
        });
        named.find_map(|(property, value)| {
            let (name, root) = self.idle_value(&property.kind.spaces(), value, deep)?;
            Some((property.name, name, root))
        })
    }

    /// The first name of a value and the menu behind it, if all that it names has no effect.
    fn idle_value(
        &self,
        spaces: &[&'static str],
        value: &Value,
        deep: usize,
    ) -> Option<(String, &'static Menu)> {
        match value {
            Value::Reference(name) => Some((name.to_string(), self.idle_name(spaces, name, deep)?)),
            Value::Gateway(gateway) => {
                let Some(name) = gateway.interface.as_deref() else {
                    let address = gateway.address?;
                    return Some((address.to_string(), self.idle_network(address)?));
                };
                Some((name.to_owned(), self.idle_name(spaces, name, deep)?))
            }
            Value::List(values) => {
                let mut all = values
                    .iter()
                    .map(|value| self.idle_value(spaces, value, deep));
                let first = all.next()??;
                all.all(|other| other.is_some()).then_some(first)
            }
            // What is about all others is about some that do something.
            _ => None,
        }
    }

    /// The menu for whose sake what has this name has no effect.
    fn idle_name(&self, spaces: &[&'static str], name: &str, deep: usize) -> Option<&'static Menu> {
        let item = spaces.iter().find_map(|space| self.named(space, name))?;
        if item.menu.effect == Effect::None {
            return Some(item.menu);
        }
        let deep = deep.checked_sub(1)?;
        match item.menu.gathers {
            None => self.rests_on(item, deep).map(|(.., root)| root),
            Some(gathers) => self.idle_gathering(item, name, gathers, deep),
        }
    }

    /// The menu for whose sake the network that an address is in is not reached: the smallest that
    /// addresses of interfaces say.
    fn idle_network(&self, address: IpAddr) -> Option<&'static Menu> {
        let mut known = self.networks.borrow_mut();
        let known = known.get_or_insert_with(|| self.networks_of_interfaces());
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let mut networks = (0..=longest).rev().filter_map(|length| {
            let network = IpNet::new(address, length).ok()?.trunc();
            known.get(&network).copied()
        });
        networks.next().flatten()
    }

    fn networks_of_interfaces(&self) -> Networks {
        let mut networks = Networks::new();
        for table in &self.tables {
            let Some((address, interface)) = table.menu.networks else {
                continue;
            };
            let spaces = table
                .menu
                .property(interface)
                .map_or(Vec::new(), |p| p.kind.spaces());
            for item in table.items.values().filter(|item| !item.is("disabled")) {
                let network = item.get(address).and_then(Value::as_prefix);
                if let (Some(network), Some(name)) = (network, item.get(interface)) {
                    let root = self.idle_value(&spaces, name, DEEPEST);
                    let root = root.map(|(_, menu)| menu);
                    // One interface that works is enough.
                    let all = networks.entry(network.trunc()).or_insert(root);
                    *all = all.and(root);
                }
            }
        }
        networks
    }

    /// As [`Store::idle_name`], for an item that is as good as its members: those of another menu that
    /// name it, and those of the items of its own kind that it includes.
    fn idle_gathering(
        &self,
        item: &Item,
        name: &str,
        (path, include): (&'static str, &'static str),
        deep: usize,
    ) -> Option<&'static Menu> {
        let space = item.menu.space?;
        let own = (self.index_of(item.menu)?, item.id);
        if let Some(known) = self.gathered.borrow().get(&own) {
            return *known;
        }
        // What includes itself ends here.
        self.gathered.borrow_mut().insert(own, None);
        let table = *self.paths.get(path)?;
        let users = self
            .spaces
            .get(space)
            .and_then(|space| space.users.get(name));
        let ids = users.into_iter().flat_map(|users| {
            let of_table = (
                Bound::Included((table, Id(0))),
                Bound::Excluded((table + 1, Id(0))),
            );
            users.range(of_table)
        });
        let members = ids.filter_map(|(table, id)| self.tables[*table].items.get(id));
        let members = members.filter(|member| !member.is("disabled"));
        let mut roots = members.map(|member| self.rests_on(member, deep).map(|(.., root)| root));
        let included = item.get(include).map_or(&[][..], Value::as_list);
        let mut lists = included.iter().filter_map(|list| {
            let list = list.as_str()?;
            Some(self.idle_name(&[space], list, deep))
        });
        let mut all = roots.by_ref().chain(lists.by_ref());
        let first = all.next().flatten();
        let root = first.filter(|_| all.all(|root| root.is_some()));
        self.gathered.borrow_mut().insert(own, root);
        root
    }

    /// Gives items from a place on, which is 0 at first and is left behind what was looked at: menus by
    /// their paths, items by their ids. Looks at no more than `most`.
    pub fn items_from(
        &self,
        place: &mut u64,
        most: usize,
        each: &mut dyn FnMut(&Arc<Item>) -> ControlFlow<()>,
    ) -> Scan {
        const ID_BITS: u32 = 48;
        let mut left = most;
        loop {
            let menu = usize::try_from(*place >> ID_BITS).unwrap_or(usize::MAX);
            let Some(table) = self.paths.values().nth(menu) else {
                return Scan::Over;
            };
            let from = Id(*place & ((1 << ID_BITS) - 1));
            for (id, item) in self.tables[*table].items.range(from..) {
                if left == 0 {
                    return Scan::More;
                }
                left -= 1;
                *place = ((menu as u64) << ID_BITS) + id.0 + 1;
                if each(item).is_break() {
                    return Scan::More;
                }
            }
            *place = (menu as u64 + 1) << ID_BITS;
        }
    }

    /// Rows of what has no effect, from a place on as [`Store::items_from`] has it: items that an export
    /// names.
    pub(crate) fn effect_rows(
        &self,
        place: &mut u64,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Scan {
        self.items_from(place, LOOKED_AT, &mut |item| {
            let lack = self.lack(item).filter(|_| is_written(self, item));
            let Some(lack) = lack else {
                return ControlFlow::Continue(());
            };
            let mut row = Row::default();
            row.set("menu", Value::text(self.shown_path(item.menu)));
            row.set("item", Value::text(item.title()));
            row.set("missing", Value::text(lack.to_string()));
            match filter.accepts(&row) {
                true => each(row),
                false => ControlFlow::Continue(()),
            }
        })
    }

    /// The path by which the console shows the items of a menu: what it hides is in a view.
    pub fn shown_path(&self, menu: &'static Menu) -> &'static str {
        let mut views = self.menus().iter();
        let view = views.find(|view| view.shape == Shape::View && view.space == menu.space);
        view.filter(|_| menu.hidden)
            .map_or(menu.path, |view| view.path)
    }
}

impl Property {
    /// Names something without which the item is as good as with it.
    #[must_use]
    pub const fn apart(mut self) -> Self {
        self.apart = true;
        self
    }
}

impl Item {
    /// What tells the item from others of its menu: its name, or else some of its values as they are
    /// typed; empty for settings.
    pub fn title(&self) -> String {
        if let Some(name) = self.name().filter(|_| self.menu.has_rows()) {
            return crate::quote(name);
        }
        let told = |name: &&&str| self.menu.has_rows() && self.menu.property(name).is_some();
        let columns = self.menu.columns.iter().filter(told);
        let values = columns.filter_map(|name| {
            let property = self.menu.property(name)?;
            let value = self.get(name).filter(|value| !value.is_empty())?;
            let text = value.to_string();
            let shown = !property.read_only && !property.sensitive;
            let shown = shown && property.default != Some(&text);
            shown.then(|| format!("{name}={}", crate::quote(&text)))
        });
        values.take(TELLING).collect::<Vec<_>>().join(" ")
    }
}

/// How much of a configuration has no effect, counted by the commands that an export of it has.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// All commands.
    commands: u64,
    /// Those without effect, by what is missing.
    lacking: Vec<(&'static str, u64)>,
    place: u64,
}

/// Parts that a survey names.
const NAMED: usize = 5;

impl Survey {
    /// Looks at some more items, so few that others need not wait for it. Says whether that was all.
    pub fn go_on(&mut self, store: &Store) -> Scan {
        let (commands, lacking) = (&mut self.commands, &mut self.lacking);
        store.items_from(&mut self.place, LOOKED_AT, &mut |item| {
            if !is_written(store, item) {
                return ControlFlow::Continue(());
            }
            *commands += 1;
            if let Some(Lack { area, .. }) = store.lack(item) {
                match lacking.iter_mut().find(|(name, _)| *name == area) {
                    Some((_, count)) => *count += 1,
                    None => lacking.push((area, 1)),
                }
            }
            ControlFlow::Continue(())
        })
    }

    /// The whole survey of a store that nobody waits for.
    pub fn of(store: &Store) -> Self {
        let mut survey = Self::default();
        while survey.go_on(store) == Scan::More {}
        survey
    }

    /// One line that says how much it is and what; none if all has its effect.
    pub fn line(&self) -> Option<String> {
        let count: u64 = self.lacking.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return None;
        }
        let mut areas = self.lacking.clone();
        areas.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let names: Vec<_> = areas.iter().take(NAMED).map(|(name, _)| *name).collect();
        let more = if areas.len() > NAMED { " …" } else { "" };
        Some(format!(
            "{count} of {} commands have no effect yet: {}{more}; {LIST} lists them",
            self.commands,
            names.join(", ")
        ))
    }
}

/// The menu that lists what has no effect.
pub const LIST: &str = "/system/configuration/effects";

fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
