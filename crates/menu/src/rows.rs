//! The rows of a menu: items with values added by the router, and dynamic rows.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::{
    EFFECTS, Flag, Id, Item, Kind, Live, Menu, MenuShape, Row, RowFilter, Scan, Store, Value,
};

/// Passes the rows of a menu that the filter accepts to `each`: items and dynamic rows in the menu's order.
pub fn stream_rows(
    store: &Store,
    live: &dyn Live,
    menu: &'static Menu,
    filter: &RowFilter<'_>,
    each: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> ControlFlow<()> {
    Slices::new(menu).go_on(store, live, filter, each)
}

/// The rows of a menu in slices. Other tasks may change the configuration between two slices.
///
/// Contains the items present at the first slice, with the values at the time of their slice; removed items are
/// left out. Dynamic rows continue after the number of rows already returned.
#[derive(Debug)]
pub struct Slices {
    menu: &'static Menu,
    items: Option<VecDeque<Arc<Item>>>,
    /// Number of dynamic rows returned.
    dynamic: usize,
    /// True if all dynamic rows were returned.
    drained: bool,
    /// Position for [`Live::rows_from`].
    place: u64,
    /// True if all rows were returned.
    over: bool,
}

impl Slices {
    /// Creates the slices of a menu.
    pub const fn new(menu: &'static Menu) -> Self {
        Self {
            menu,
            items: None,
            dynamic: 0,
            drained: false,
            place: 0,
            over: false,
        }
    }

    /// Returns the next rows: at most `most`, or an eighth of the dynamic rows returned so far if that is more.
    /// All calls must use the same filter. A slice may be empty before [`Self::is_over`].
    ///
    /// Each call skips the dynamic rows already returned, except for [`Live::rows_from`]. As the slices grow
    /// with the number of rows, the total cost is a small multiple of generating all rows once.
    pub fn next(
        &mut self,
        store: &Store,
        live: &dyn Live,
        filter: &RowFilter<'_>,
        most: usize,
    ) -> Vec<Row> {
        if let Some(rows) = self.go_on_from_place(store, live, filter, most) {
            return rows;
        }
        let most = most.max(self.dynamic / 8);
        let mut rows = Vec::new();
        let _ = self.go_on(store, live, filter, &mut |row| {
            rows.push(row);
            if rows.len() < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        self.over = rows.is_empty();
        rows
    }

    /// True if all rows were returned.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Returns the next rows of a menu that supports [`Live::rows_from`] or lists configuration without effect.
    fn go_on_from_place(
        &mut self,
        store: &Store,
        live: &dyn Live,
        filter: &RowFilter<'_>,
        most: usize,
    ) -> Option<Vec<Row>> {
        let menu = self.menu;
        let mut rows = Vec::new();
        let mut each = |mut row| {
            veil(menu, filter, &mut row);
            rows.push(row);
            if rows.len() < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let scan = if menu.path == EFFECTS {
            store.effect_rows(&mut self.place, filter, &mut each)
        } else {
            live.rows_from(menu, filter, &mut self.place, &mut each)?
        };
        self.over = scan == Scan::Over;
        Some(rows)
    }

    /// Passes further rows to `each` until it returns `Break`.
    fn go_on(
        &mut self,
        store: &Store,
        live: &dyn Live,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let menu = self.menu;
        match menu.shape {
            MenuShape::Settings | MenuShape::Status => {
                let first = !std::mem::replace(&mut self.drained, true);
                let row = first.then(|| {
                    let mut row = settings_row(store, live, menu);
                    veil(menu, filter, &mut row);
                    row
                });
                return match row.filter(|row| menu.has_values(row) && filter.accepts(row)) {
                    Some(row) => each(row),
                    None => ControlFlow::Continue(()),
                };
            }
            MenuShape::Folder => return ControlFlow::Continue(()),
            _ => {}
        }
        let items = self
            .items
            .get_or_insert_with(|| sorted(store, menu, filter));
        let mut skip = self.dynamic;
        let given = &mut self.dynamic;
        let give = |item: &Item, each: &mut dyn FnMut(Row) -> ControlFlow<()>| {
            let Some(item) = store.item(menu.path, item.id) else {
                return ControlFlow::Continue(());
            };
            let mut row = item_row(store, live, menu, item);
            veil(menu, filter, &mut row);
            if filter.accepts(&row) {
                each(row)
            } else {
                ControlFlow::Continue(())
            }
        };
        if !self.drained {
            // Dynamic rows arrive in the menu's order: merge the items.
            live.rows(store, menu, filter, &mut |mut row| {
                veil(menu, filter, &mut row);
                if skip > 0 {
                    skip -= 1;
                    return ControlFlow::Continue(());
                }
                let earlier = |item: &Arc<Item>| {
                    !menu.dynamic_first
                        && (menu.sort.is_empty()
                            || compare(menu, &|n| item.get(n), &|n| row.get(n))
                                != Ordering::Greater)
                };
                while items.front().is_some_and(earlier) {
                    if let Some(item) = items.pop_front() {
                        give(&item, each)?;
                    }
                }
                *given += 1;
                each(row)
            })?;
            self.drained = true;
        }
        while let Some(item) = items.pop_front() {
            give(&item, each)?;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the items that may pass the filter, in the menu's order.
fn sorted(store: &Store, menu: &'static Menu, filter: &RowFilter<'_>) -> VecDeque<Arc<Item>> {
    let mut items = candidates(store, menu, filter);
    if menu.shape == MenuShape::View {
        items.sort_by_key(|item| item.id);
    } else if !menu.sort.is_empty() {
        items.sort_by(|a, b| compare(menu, &|name| a.get(name), &|name| b.get(name)));
    }
    items.into_iter().map(Arc::clone).collect()
}

/// Returns the items that may pass the filter: looks a name up if the filter has one, otherwise compares stored
/// values. Values added by the router are checked later.
fn candidates<'s>(
    store: &'s Store,
    menu: &'static Menu,
    filter: &RowFilter<'_>,
) -> Vec<&'s Arc<Item>> {
    let fits = |item: &&Arc<Item>| {
        let mut equals = filter.equals.iter();
        equals.all(|(name, value)| item.get(name).is_none_or(|is| is == value))
    };
    let named = filter
        .equals
        .iter()
        .find(|(name, _)| Some(*name) == menu.key);
    if let (Some(space), Some((_, name))) = (menu.space, named) {
        let item = name
            .as_str()
            .and_then(|name| store.named(space, name))
            .filter(fits);
        let here = |item: &&Arc<Item>| menu.shape == MenuShape::View || item.menu.path == menu.path;
        return item.filter(here).into_iter().collect();
    }
    match (menu.shape, menu.space) {
        (MenuShape::View, Some(space)) => store.members(space).filter(fits).collect(),
        _ => store.items(menu.path).filter(fits).collect(),
    }
}

/// Returns the row of an item, as its menu or a view shows it.
pub fn item_row(store: &Store, live: &dyn Live, menu: &'static Menu, item: &Item) -> Row {
    let mut row = Row {
        id: Some(item.id),
        cells: Vec::new(),
    };
    let view = menu.shape == MenuShape::View;
    for (property, value) in item.values() {
        let moot = item.menu.moot.is_some_and(|moot| moot(item, property.name));
        let shown = !property.sealed && !property.is_quiet(value) && !moot;
        if shown && (!view || menu.property(property.name).is_some()) {
            row.cells.push((property.name, value.clone()));
        }
    }
    if view {
        row.set("type", Value::text(kind_of(store, item)));
    }
    if item.builtin.is_some() && item.menu.shape != MenuShape::Fixed && !menu.removable {
        // A menu without such a flag shows a default item as dynamic.
        let letters = ["builtin", "default"];
        let letter = letters
            .into_iter()
            .find(|letter| menu.flags.iter().any(|flag| flag.name == *letter));
        row.flag(letter.unwrap_or("dynamic"), true);
    }
    if is_supposed(item) {
        row.flag("default", true);
    }
    if let Some(lack) = store.no_effect_reason(item) {
        row.flag(Flag::NO_EFFECT.name, true);
        row.set(Row::NO_EFFECT, Value::text(lack.to_string()));
    }
    live.annotate(store, item.menu, item.id, &mut row);
    if view {
        // A counter that the router does not provide is 0.
        let counters = menu.properties();
        for counter in counters.filter(|p| p.read_only && p.kind == Kind::COUNTER) {
            if row.get(counter.name).is_none() {
                row.cells.push((counter.name, Value::Number(0)));
            }
        }
    }
    row
}

/// Hides secrets if the filter requires it.
fn veil(menu: &Menu, filter: &RowFilter<'_>, row: &mut Row) {
    if filter.without_secrets {
        hide_secrets(menu, row);
    }
}

/// Replaces secrets by asterisks.
pub fn hide_secrets(menu: &Menu, row: &mut Row) {
    for property in menu.properties().filter(|property| property.sensitive) {
        if let Some((_, value)) = row
            .cells
            .iter_mut()
            .find(|(name, _)| *name == property.name)
        {
            *value = Value::text("*****");
        }
    }
}

/// True for items that existed by default in older versions.
fn is_supposed(item: &Item) -> bool {
    item.menu.supposed.iter().any(|supposed| {
        let first = supposed.values.first();
        first.is_some_and(|(name, value)| item.text(name) == *value)
    })
}

/// Returns the `type` of an item in a view.
fn kind_of(store: &Store, item: &Item) -> &'static str {
    let port = store
        .port_kind(item.text("default-name"))
        .filter(|_| !item.menu.ports.is_empty());
    port.map_or(item.menu.kind, |(_, kind)| kind)
}

fn settings_row(store: &Store, live: &dyn Live, menu: &'static Menu) -> Row {
    match store.settings(menu.path) {
        Some(item) => {
            let mut row = item_row(store, live, menu, item);
            row.id = None;
            row
        }
        None => {
            let mut row = Row::default();
            live.annotate(store, menu, Id::SETTINGS, &mut row);
            row
        }
    }
}

/// Orders rows by these cells; unset cells come first.
pub fn compare_rows(names: &[&str], a: &Row, b: &Row) -> Ordering {
    let keys = names.iter().map(|name| match (a.get(name), b.get(name)) {
        (Some(a), Some(b)) => compare_values(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    let mut keys = keys.filter(|order| order.is_ne());
    keys.next().unwrap_or(Ordering::Equal)
}

type Cells<'a> = dyn Fn(&str) -> Option<&'a Value> + 'a;

fn compare<'a>(menu: &Menu, a: &Cells<'a>, b: &Cells<'a>) -> Ordering {
    let mut keys = menu.sort.iter().map(|name| match (a(name), b(name)) {
        (Some(a), Some(b)) => compare_values(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    keys.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Orders values. Numbers within names compare as numbers, so that `ether2` precedes `ether10`.
pub(crate) fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => compare_names(a, b),
        _ => a.cmp(b),
    }
}

pub(crate) fn compare_names(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = (digits(a), digits(b));
        if x > 0 && y > 0 {
            let (m, n) = (
                a[..x].trim_start_matches('0'),
                b[..y].trim_start_matches('0'),
            );
            match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                Ordering::Equal => (a, b) = (&a[x..], &b[y..]),
                order => return order,
            }
            continue;
        }
        match (a.chars().next(), b.chars().next()) {
            (Some(x), Some(y)) if x == y => (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]),
            (x, y) => return x.cmp(&y),
        }
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_by_embedded_numbers() {
        let mut names = [
            "sfp1",
            "ether10",
            "ether9",
            "ether1",
            "ether1-wan",
            "bridge",
        ];

        names.sort_by(|a, b| compare_names(a, b));

        assert_eq!(
            names,
            [
                "bridge",
                "ether1",
                "ether1-wan",
                "ether9",
                "ether10",
                "sfp1"
            ]
        );
    }
}
