//! Detects configuration without effect: items of menus without effect, values without effect, and items that
//! depend only on such items.
//!
//! Effects are computed on demand from the store. An item is judged by its own values and by the items it
//! names. Only the results for groups (interface lists) and networks are cached, until the next change.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use ipnet::IpNet;

use crate::export::is_written;
use crate::{Effect, Id, Item, Menu, MenuShape, Property, Row, RowFilter, Scan, Store, Value};

/// A RouterOS feature area.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// The users' name of the area: `bridges`.
    pub name: &'static str,
    /// The menus of the area, including all menus below them. The longest matching path decides.
    pub menus: &'static [&'static str],
}

/// The reason why an item has no effect. Its text names the missing feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoEffectReason {
    /// The missing feature area, in users' words.
    pub area: &'static str,
    /// The part of the item concerned.
    pub cause: Cause,
}

/// The part of an item that lacks an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The whole item: its menu has no effect.
    Menu,
    /// The whole item, as the menu's `idle` hook says, such as a service that is not available.
    Item(&'static str),
    /// The values of these properties.
    Values(Vec<&'static str>),
    /// The whole item: the item that this property names has no effect.
    Named(&'static str, String),
}

impl fmt::Display for NoEffectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Menu => f.write_str(self.area),
            Cause::Item(what) => f.write_str(what),
            Cause::Values(names) => f.write_str(&names.join(", ")),
            Cause::Named(property, name) => write!(f, "{} ({property}={name})", self.area),
        }
    }
}

/// Area name for single values without effect in menus that belong to no missing area.
const SINGLE_VALUES: &str = "single values";

/// Maximum length of a chain of references that is followed, such as a VLAN on a VLAN on a bridge.
const MAX_REFERENCE_DEPTH: usize = 8;

/// Number of items examined before other tasks may use the router.
const SEARCH_SLICE: usize = 4_096;

/// Number of values that identify an item without a name.
const IDENTIFYING_VALUES: usize = 4;

/// Networks of interfaces, each with the menu without effect that makes it unreachable, if any.
pub(crate) type Networks = BTreeMap<IpNet, Option<&'static Menu>>;

impl Store {
    /// Sets the feature areas of menus.
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

    /// Returns the feature area of a menu; its path if it belongs to none.
    pub fn area(&self, menu: &'static Menu) -> &'static str {
        let index = self.index_of(menu);
        index.map_or(menu.path, |index| self.tables[index].area)
    }

    /// Returns why an item has no effect; `None` if it has. A disabled item is judged as if it were enabled.
    pub fn no_effect_reason(&self, item: &Item) -> Option<NoEffectReason> {
        let lack = |menu, cause| {
            let area = self.area(menu);
            Some(NoEffectReason { area, cause })
        };
        if item.menu.effect == Effect::None {
            let is_off = item.menu.is_off(item);
            return if is_off {
                None
            } else {
                lack(item.menu, Cause::Menu)
            };
        }
        if let Some((property, name, root)) = self.rests_on(item, MAX_REFERENCE_DEPTH) {
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
            path if path.starts_with('/') => SINGLE_VALUES,
            area => area,
        };
        (!names.is_empty()).then_some(NoEffectReason {
            area,
            cause: Cause::Values(names),
        })
    }

    /// Finds the first property that names only items without effect. Returns the property, the first named
    /// item, and the menu at the end of the chain of references.
    fn rests_on(&self, item: &Item, deep: usize) -> Option<(&'static str, String, &'static Menu)> {
        let mut named = item.values().filter(|(property, _)| {
            property.kind.refers() && !property.apart && property.effect == Effect::Full
        });
        named.find_map(|(property, value)| {
            let (name, root) = self.idle_value(&property.kind.spaces(), value, deep)?;
            Some((property.name, name, root))
        })
    }

    /// If all items that a value names have no effect, returns the first name and the menu that causes it.
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
            // A negated value covers all other items, some of which have an effect.
            _ => None,
        }
    }

    /// Returns the menu that causes a named item to have no effect.
    fn idle_name(&self, spaces: &[&'static str], name: &str, deep: usize) -> Option<&'static Menu> {
        let item = spaces.iter().find_map(|space| self.named(space, name))?;
        if item.menu.effect == Effect::None {
            return Some(item.menu);
        }
        let deep = deep.checked_sub(1)?;
        match item.menu.gathers {
            None => self.rests_on(item, deep).map(|(.., root)| root),
            Some((path, include)) => self.idle_gathering(item, name, path, include, deep),
        }
    }

    /// Returns the menu that makes the network of an address unreachable: of the longest matching prefix among
    /// interface addresses.
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
                    let root = self.idle_value(&spaces, name, MAX_REFERENCE_DEPTH);
                    let root = root.map(|(_, menu)| menu);
                    // A network is reachable if one of its interfaces has an effect.
                    let all = networks.entry(network.trunc()).or_insert(root);
                    *all = all.and(root);
                }
            }
        }
        networks
    }

    /// Computes [`Store::idle_name`] for a group. A group has no effect if all members and included groups lack
    /// an effect.
    fn idle_gathering(
        &self,
        item: &Item,
        name: &str,
        path: &str,
        include: &str,
        deep: usize,
    ) -> Option<&'static Menu> {
        let space = item.menu.space?;
        let own = (self.index_of(item.menu)?, item.id);
        if let Some(known) = self.gathered.borrow().get(&own) {
            return *known;
        }
        // Ends the recursion for a group that includes itself.
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

    /// Iterates over at most `most` items, ordered by menu path and id, and stores the position in `place` for
    /// the next call. The first call passes 0.
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

    /// Iterates over rows of exportable items without effect. `place` works as in [`Store::items_from`].
    pub(crate) fn effect_rows(
        &self,
        place: &mut u64,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Scan {
        self.items_from(place, SEARCH_SLICE, &mut |item| {
            let lack = self
                .no_effect_reason(item)
                .filter(|_| is_written(self, item));
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

    /// Returns the path under which the console shows the items of a menu: for a hidden menu, the view.
    pub fn shown_path(&self, menu: &'static Menu) -> &'static str {
        let mut views = self.menus().iter();
        let view = views.find(|view| view.shape == MenuShape::View && view.space == menu.space);
        view.filter(|_| menu.hidden)
            .map_or(menu.path, |view| view.path)
    }
}

impl Property {
    /// Declares that the item's effect does not depend on the items that the property names.
    #[must_use]
    pub const fn apart(mut self) -> Self {
        self.apart = true;
        self
    }
}

impl Item {
    /// Returns a title that identifies the item in its menu: the name, or some values as typed. Empty for
    /// settings.
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
        values
            .take(IDENTIFYING_VALUES)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Statistics on configuration without effect, counted in commands of an export.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Number of all commands.
    commands: u64,
    /// Number of commands without effect, by missing area.
    lacking: Vec<(&'static str, u64)>,
    place: u64,
}

/// Maximum number of areas that a survey names.
const MAX_NAMED_AREAS: usize = 5;

impl Survey {
    /// Examines some more items, few enough not to delay other tasks. Returns whether the survey is complete.
    pub fn go_on(&mut self, store: &Store) -> Scan {
        let (commands, lacking) = (&mut self.commands, &mut self.lacking);
        store.items_from(&mut self.place, SEARCH_SLICE, &mut |item| {
            if !is_written(store, item) {
                return ControlFlow::Continue(());
            }
            *commands += 1;
            if let Some(NoEffectReason { area, .. }) = store.no_effect_reason(item) {
                match lacking.iter_mut().find(|(name, _)| *name == area) {
                    Some((_, count)) => *count += 1,
                    None => lacking.push((area, 1)),
                }
            }
            ControlFlow::Continue(())
        })
    }

    /// Surveys a whole store at once.
    pub fn of(store: &Store) -> Self {
        let mut survey = Self::default();
        while survey.go_on(store) == Scan::More {}
        survey
    }

    /// Returns a one-line summary; `None` if everything has an effect.
    pub fn line(&self) -> Option<String> {
        let count: u64 = self.lacking.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return None;
        }
        let mut areas = self.lacking.clone();
        areas.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let names: Vec<_> = areas
            .iter()
            .take(MAX_NAMED_AREAS)
            .map(|(name, _)| *name)
            .collect();
        let more = if areas.len() > MAX_NAMED_AREAS {
            " …"
        } else {
            ""
        };
        Some(format!(
            "{count} of {} commands have no effect yet: {}{more}; {LIST} lists them",
            self.commands,
            names.join(", ")
        ))
    }
}

/// Path of the menu that lists configuration without effect.
pub const LIST: &str = "/system/configuration/effects";

fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
