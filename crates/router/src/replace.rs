//! Making one configuration another with the least change.
//!
//! Equal items stay. Items with the same name or builtin are changed, and so are similar items without a name. All
//! other items are removed, then the missing ones are added. An item that stays keeps its id, counters and sessions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use menu::{By, Changes, Id, Item, Menu, MenuShape, Reason, Store, Value};

/// Values by property; `None` unsets.
type PropertyValues = Vec<(&'static str, Option<Value>)>;

/// Changes `store` into `wanted`, as one transaction.
///
/// # Errors
/// The store's refusal; nothing has changed then.
pub fn reach(store: &mut Store, wanted: &Store, by: By) -> Result<Option<Arc<Changes>>, Reason> {
    transact(store, by, |store| replace(store, wanted, &|_| true))
}

/// Changes `store` into `wanted` in the concerned menus; other menus stay unchanged. Also removes items that no command
/// can create, such as certificates.
pub(crate) fn start_afresh(
    store: &mut Store,
    wanted: &Store,
    concerned: &dyn Fn(&Menu) -> bool,
    by: By,
) -> Result<Option<Arc<Changes>>, Reason> {
    transact(store, by, |store| {
        remove_kept(store)?;
        replace(store, wanted, concerned)
    })
}

fn transact(
    store: &mut Store,
    by: By,
    change: impl FnOnce(&mut Store) -> Result<(), Reason>,
) -> Result<Option<Arc<Changes>>, Reason> {
    let mark = store.begin();
    match change(store) {
        Ok(()) => store.commit_by(mark, by),
        Err(reason) => {
            store.rollback(mark);
            Err(reason)
        }
    }
}

/// Changes `store` into `wanted` in the concerned menus, within the open transaction.
///
/// # Errors
/// The store's refusal.
pub(crate) fn replace(
    store: &mut Store,
    wanted: &Store,
    concerned: &dyn Fn(&Menu) -> bool,
) -> Result<(), Reason> {
    // A menu comes before the menus that refer to it: remove in reverse order, add in order.
    let mut menus: Vec<&'static Menu> = store.menus().to_vec();
    menus.retain(|menu| concerned(menu));
    for menu in menus.iter().rev() {
        remove_unwanted(store, wanted, menu)?;
    }
    for menu in menus {
        match menu.shape {
            MenuShape::Settings => change_settings(store, wanted, menu)?,
            MenuShape::List | MenuShape::Ordered | MenuShape::Fixed => {
                add_missing(store, wanted, menu)?
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes the items that [`replace`] keeps because no command can create them again.
///
/// # Errors
/// The store's refusal.
fn remove_kept(store: &mut Store) -> Result<(), Reason> {
    for menu in store.menus().iter().filter(|menu| !menu.kept.is_empty()) {
        let items = store.items(menu.path);
        let kept: Vec<_> = items
            .filter(|item| item.has_kept())
            .map(|item| item.id)
            .collect();
        kept.into_iter().try_for_each(|id| store.remove(menu, id))?;
    }
    Ok(())
}

fn change_settings(store: &mut Store, wanted: &Store, menu: &'static Menu) -> Result<(), Reason> {
    let (Some(item), Some(target)) = (store.settings(menu.path), wanted.settings(menu.path)) else {
        return Ok(());
    };
    let (id, given) = (item.id, difference(item, target));
    store.set(menu, id, &given)
}

/// Returns the settable properties that differ between an item and its target.
fn difference(item: &Item, wanted: &Item) -> PropertyValues {
    let menu = item.menu;
    menu.properties()
        .filter(|property| !property.read_only)
        .filter(|property| item.get(property.name) != wanted.get(property.name))
        .filter(|property| !property.sensitive || wanted.get(property.name).is_some_and(is_secret))
        .map(|property| (property.name, wanted.get(property.name).cloned()))
        .collect()
}

/// Whether a value is a secret, in the clear or sealed. A configuration without a password keeps the present one:
/// exports hide passwords by default.
fn is_secret(value: &Value) -> bool {
    !value.is_empty() && value.as_str() != Some(menu::NO_SEAL)
}

/// Identity of an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Builtin(usize),
    Name(String),
    /// Values of an item without a name.
    Text(String),
}

fn identity(item: &Item, without: &[&str]) -> Identity {
    if let Some(number) = item.builtin.filter(|_| !item.menu.removable) {
        return Identity::Builtin(number);
    }
    let known_by = if item.is_port() {
        Some(item.text("default-name"))
    } else {
        item.name()
    };
    match known_by.filter(|name| !name.is_empty()) {
        Some(name) => Identity::Name(name.to_owned()),
        None => Identity::Text(values_of(item, without)),
    }
}

/// Returns the values of an item without its secrets, which a configuration may omit.
fn values_of(item: &Item, without: &[&str]) -> String {
    item.values()
        .filter(|(property, _)| !property.sensitive && !without.contains(&property.name))
        .map(|(property, value)| format!("{}={value} ", property.name))
        .collect()
}

/// Properties that do not identify an item.
const NOTES: [&str; 2] = ["comment", "disabled"];

/// Maximum number of comparisons of unnamed items with targets.
const COMPARED: usize = 1 << 16;

/// Matches items with targets: returns the position of the item for each target. Equal items come first, then items
/// that differ in their notes only, then items that have more than half of their values in common.
fn pairs(items: &[&Arc<Item>], targets: &[&Arc<Item>]) -> Vec<Option<usize>> {
    let mut becomes = vec![None; targets.len()];
    let mut free: Vec<_> = (0..items.len()).collect();
    for without in [&[][..], &NOTES] {
        let mut known = BTreeMap::<_, Vec<_>>::new();
        for place in free.iter().rev() {
            let identity = identity(items[*place], without);
            known.entry(identity).or_default().push(*place);
        }
        let open = becomes.iter_mut().zip(targets);
        for (becomes, target) in open.filter(|(becomes, _)| becomes.is_none()) {
            *becomes = known.get_mut(&identity(target, without)).and_then(Vec::pop);
        }
        free = known.into_values().flatten().collect();
        free.sort_unstable();
    }
    let open: Vec<_> = (0..targets.len())
        .filter(|target| becomes[*target].is_none())
        .collect();
    if free.len() * open.len() <= COMPARED {
        for (target, place) in alike(items, targets, &free, &open) {
            becomes[target] = Some(place);
        }
    }
    becomes
}

/// Returns targets with similar items, the most similar first.
fn alike(
    items: &[&Arc<Item>],
    targets: &[&Arc<Item>],
    free: &[usize],
    open: &[usize],
) -> Vec<(usize, usize)> {
    let all = open.iter().flat_map(|target| {
        free.iter()
            .map(move |place| (likeness(items[*place], targets[*target]), *target, *place))
    });
    let mut all: Vec<_> = all.filter(|(likeness, ..)| *likeness > 0).collect();
    all.sort_unstable_by_key(|(likeness, target, place)| (Reverse(*likeness), *target, *place));
    let (mut met, mut taken) = (BTreeSet::new(), BTreeSet::new());
    all.retain(|(_, target, place)| {
        let fresh = !met.contains(target) && !taken.contains(place);
        fresh && met.insert(*target) && taken.insert(*place)
    });
    let pair = |(_, target, place)| (target, place);
    all.into_iter().map(pair).collect()
}

/// Returns the number of equal values of two unnamed items. Returns 0 if at most half of the values are equal, if
/// either item has a name, or if unique properties differ.
fn likeness(item: &Item, target: &Item) -> usize {
    let named = |item: &Item| !matches!(identity(item, &[]), Identity::Text(_));
    let rules = item.menu.unique.iter().chain(item.menu.distinct);
    let mut keys = rules.flat_map(|unique| unique.properties);
    if named(item) || named(target) || keys.any(|key| item.get(key) != target.get(key)) {
        return 0;
    }
    let (own, wanted) = (said(item), said(target));
    let shared = own.iter().filter(|said| wanted.contains(said)).count();
    if shared * 2 > own.len().max(wanted.len()) {
        shared
    } else {
        0
    }
}

/// Returns the values of an item that differ from the defaults.
fn said(item: &Item) -> Vec<(&'static str, &Value)> {
    item.values()
        .filter(|(property, _)| !property.read_only && !NOTES.contains(&property.name))
        .filter(|(property, value)| {
            property
                .default
                .is_none_or(|text| value.to_string() != text)
        })
        .map(|(property, value)| (property.name, value))
        .collect()
}

fn remove_unwanted(store: &mut Store, wanted: &Store, menu: &'static Menu) -> Result<(), Reason> {
    if !matches!(menu.shape, MenuShape::List | MenuShape::Ordered) {
        return Ok(());
    }
    let items: Vec<_> = store.items(menu.path).collect();
    let targets: Vec<_> = wanted.items(menu.path).collect();
    let kept: BTreeSet<_> = pairs(&items, &targets).into_iter().flatten().collect();
    let surplus = items
        .iter()
        .enumerate()
        .filter(|(place, _)| !kept.contains(place))
        .map(|(_, item)| item)
        .filter(|item| (item.builtin.is_none() && !item.is_port()) || menu.removable)
        // A text cannot create these items: that it does not contain them means nothing.
        .filter(|item| !item.has_kept());
    let gone: Vec<_> = surplus.map(|item| item.id).collect();
    gone.into_iter().try_for_each(|id| store.remove(menu, id))
}

fn add_missing(store: &mut Store, wanted: &Store, menu: &'static Menu) -> Result<(), Reason> {
    let items: Vec<_> = store.items(menu.path).collect();
    let targets: Vec<_> = wanted.items(menu.path).collect();
    let known = pairs(&items, &targets);
    let known: Vec<_> = known
        .into_iter()
        .map(|place| place.map(|place| items[place].id))
        .collect();
    let mut order = Vec::new();
    for (target, known) in targets.into_iter().zip(known) {
        if let Some(id) = known {
            let given = store
                .item(menu.path, id)
                .filter(|item| !item.has_kept())
                .map(|item| difference(item, target))
                .unwrap_or_default();
            store.set(menu, id, &given)?;
            order.push(id);
        } else if menu.shape != MenuShape::Fixed && !target.is_port() {
            let given: PropertyValues = target
                .values()
                .filter(|(property, _)| !property.read_only)
                .map(|(property, value)| (property.name, Some(value.clone())))
                .collect();
            order.push(store.add(menu, &given, None)?);
        }
    }
    if menu.shape == MenuShape::Ordered {
        put_in_order(store, menu, &order)?;
    }
    Ok(())
}

/// Orders items with the fewest moves: a longest sequence that is in order already stays.
fn put_in_order(store: &mut Store, menu: &'static Menu, order: &[Id]) -> Result<(), Reason> {
    let items = store.items(menu.path).enumerate();
    let places: BTreeMap<_, _> = items.map(|(place, item)| (item.id, place)).collect();
    let places: Vec<_> = order.iter().map(|id| places[id]).collect();
    let mut stay = rising(&places).into_iter().rev().peekable();
    let mut next = None;
    for (at, id) in order.iter().enumerate().rev() {
        if stay.next_if_eq(&at).is_none() {
            store.move_before(menu, *id, next)?;
        }
        next = Some(*id);
    }
    Ok(())
}

/// Returns the positions of a longest rising subsequence of distinct numbers.
fn rising(numbers: &[usize]) -> Vec<usize> {
    // For each length, the subsequence with the lowest end; for each number, its predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; numbers.len()];
    for (at, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|end| numbers[*end] < *number);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut part: Vec<_> = std::iter::successors(ends.last().copied(), |at| before[*at]).collect();
    part.reverse();
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use menu::Offline;
    use script::Session;

    fn store_of(text: &str) -> Store {
        let mut store = schema::store();
        let mut session = Session::new("admin");
        let mut out = String::new();
        script::import(&mut store, &mut Offline, &mut session, text, &mut out)
            .expect("a configuration that imports");
        store
    }

    fn text_of(store: &Store) -> String {
        let mut text = String::new();
        let _ = script::export_all(store, menu::Clock::utc(0), &mut text);
        text
    }

    const BEFORE: &str = "\
        /interface ethernet set [find default-name=ether1] name=wan\n\
        /interface vlan add name=vlan7 interface=wan vlan-id=7\n\
        /ip address add address=10.0.0.1/24 interface=wan\n\
        /ip address add address=10.7.0.1/24 interface=vlan7\n\
        /ip route add dst-address=10.9.0.0/16 gateway=10.0.0.9\n\
        /ip settings set rp-filter=strict\n\
        /routing rule add src-address=10.7.0.0/24 action=drop\n\
        /routing rule add src-address=10.8.0.0/24 action=drop\n";
    const AFTER: &str = "\
        /interface ethernet set [find default-name=ether1] name=uplink mtu=1400\n\
        /ip address add address=10.0.0.1/24 interface=uplink\n\
        /ip route add dst-address=10.9.0.0/16 gateway=10.0.0.9\n\
        /ip route add dst-address=0.0.0.0/0 gateway=10.0.0.1\n\
        /routing rule add src-address=10.8.0.0/24 action=drop\n\
        /routing rule add src-address=10.7.0.0/24 action=drop\n\
        /system identity set name=other\n";

    #[test]
    fn replacing_a_configuration_keeps_equal_items() {
        let mut store = store_of(BEFORE);
        let wanted = store_of(AFTER);
        let route = store.items("/ip/route").next().expect("a route").id;

        let mark = store.begin();
        replace(&mut store, &wanted, &|_| true).expect("both are valid");
        let changes = store.commit(mark).expect("no journal").expect("changes");

        assert_eq!(text_of(&store), text_of(&wanted));
        assert!(store.items("/ip/route").any(|item| item.id == route));
        assert!(changes.of("/ip/route").all(|change| change.id != route));
        assert_eq!(store.count("/interface/vlan"), 0);
    }

    #[test]
    fn items_without_names_that_are_much_alike_are_changed_and_not_made_anew() {
        let rules = "/ip firewall filter add chain=input action=accept protocol=tcp dst-port=22\n\
                     /ip firewall filter add chain=input action=drop\n\
                     /ip address add address=10.0.0.1/24 interface=ether1\n\
                     /ppp secret add name=a password=secret\n";
        let wanted = "/ip firewall filter add chain=input action=accept protocol=udp\n\
                      /ip firewall filter add chain=input action=accept protocol=tcp dst-port=22,80\n\
                      /ip firewall filter add chain=input action=drop comment=rest\n\
                      /ip address add address=10.0.0.1/24 interface=ether1 disabled=yes\n\
                      /ppp secret add name=a\n";
        let (mut store, wanted) = (store_of(rules), store_of(wanted));
        let ids = |store: &Store| -> Vec<_> {
            store.items("/ip/firewall/filter").map(|i| i.id).collect()
        };
        let before = ids(&store);

        let changes = reach(&mut store, &wanted, By::default())
            .expect("both are valid")
            .expect("there are changes");

        assert_eq!(text_of(&store), text_of(&wanted));
        assert_eq!(ids(&store)[1..], before[..]);
        assert_eq!(
            changes.of("/ip/firewall/filter").count(),
            3,
            "no rule moves"
        );
        assert_eq!(changes.of("/ip/address").count(), 1);
        assert_eq!(
            changes.of("/ppp/secret").count(),
            0,
            "a password that is not said stays"
        );
    }

    #[test]
    fn only_items_out_of_order_are_moved() {
        let rules = |order: &[u8]| -> String {
            let rule =
                |n: &u8| format!("/routing rule add src-address=10.{n}.0.0/16 action=drop\n");
            order.iter().map(rule).collect()
        };
        for (from, to, moves) in [
            ([1, 2, 3, 4, 5], [5, 1, 2, 3, 4], 1),
            ([1, 2, 3, 4, 5], [2, 3, 4, 5, 1], 1),
            ([1, 2, 3, 4, 5], [1, 4, 3, 2, 5], 2),
            ([3, 1, 5, 2, 4], [3, 1, 5, 2, 4], 0),
        ] {
            let (mut store, wanted) = (store_of(&rules(&from)), store_of(&rules(&to)));

            let changes = reach(&mut store, &wanted, By::default()).expect("both are valid");

            assert_eq!(text_of(&store), text_of(&wanted));
            let moved = changes.map_or(0, |changes| changes.list.len());
            assert_eq!(moved, moves, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn replacing_with_the_same_configuration_changes_nothing() {
        let mut store = store_of(BEFORE);
        let wanted = store_of(BEFORE);

        let mark = store.begin();
        replace(&mut store, &wanted, &|_| true).expect("the same");

        assert!(store.commit(mark).expect("no journal").is_none());
    }
}
