//! Making one configuration another with the least change.
//!
//! Items that are the same stay; those of one name, or of one builtin, are changed; what remains is
//! removed, then added. An item that stays keeps its id, and with it its counters and sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use menu::{By, Changes, Item, Menu, Reason, Shape, Store, Value};

/// Values by property; `None` unsets.
type Given = Vec<(&'static str, Option<Value>)>;

/// Makes `store` what `wanted` is, as one transaction.
///
/// # Errors
/// What the store refuses; nothing has changed then.
pub fn reach(store: &mut Store, wanted: &Store, by: By) -> Result<Option<Arc<Changes>>, Reason> {
    reach_in(store, wanted, &|_| true, by)
}

/// As [`reach`], in those menus that are concerned; the others stay as they are.
pub(crate) fn reach_in(
    store: &mut Store,
    wanted: &Store,
    concerned: &dyn Fn(&Menu) -> bool,
    by: By,
) -> Result<Option<Arc<Changes>>, Reason> {
    let mark = store.begin();
    match replace(store, wanted, concerned) {
        Ok(()) => store.commit_by(mark, by),
        Err(reason) => {
            store.rollback(mark);
            Err(reason)
        }
    }
}

/// Makes `store` what `wanted` is in the menus that are concerned, within the open transaction.
///
/// # Errors
/// What the store refuses.
pub(crate) fn replace(
    store: &mut Store,
    wanted: &Store,
    concerned: &dyn Fn(&Menu) -> bool,
) -> Result<(), Reason> {
    // What refers to others is in menus behind those of the others: first away, last made.
    let mut menus: Vec<&'static Menu> = store.menus().to_vec();
    menus.retain(|menu| concerned(menu));
    menus.sort_by_key(|menu| menu.rank);
    for menu in menus.iter().rev() {
        remove_unwanted(store, wanted, menu)?;
    }
    for menu in menus {
        match menu.shape {
            Shape::Settings => change_settings(store, wanted, menu)?,
            Shape::List | Shape::Ordered | Shape::Fixed => add_missing(store, wanted, menu)?,
            _ => {}
        }
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

/// What must be set to make an item another: only what may be set.
fn difference(item: &Item, wanted: &Item) -> Given {
    let menu = item.menu;
    menu.properties()
        .filter(|property| !property.read_only)
        .filter(|property| item.get(property.name) != wanted.get(property.name))
        .filter(|property| !property.sealed || wanted.get(property.name).is_some_and(is_seal))
        .map(|property| (property.name, wanted.get(property.name).cloned()))
        .collect()
}

/// Whether there is a seal. A configuration that says nothing of a password leaves it as it is.
fn is_seal(value: &Value) -> bool {
    !value.is_empty() && value.as_str() != Some(menu::NO_SEAL)
}

/// What an item is known by besides its values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Builtin(usize),
    Name(String),
    Text(String),
}

fn identity(item: &Item) -> Identity {
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
        None => Identity::Text(values_of(item)),
    }
}

fn values_of(item: &Item) -> String {
    item.values()
        .map(|(property, value)| format!("{}={value} ", property.name))
        .collect()
}

/// Items by what they are known by, in order; several may be alike.
fn by_identity<'a>(
    items: impl Iterator<Item = &'a Arc<Item>>,
) -> BTreeMap<Identity, Vec<&'a Arc<Item>>> {
    let mut by = BTreeMap::<_, Vec<_>>::new();
    for item in items {
        by.entry(identity(item)).or_default().push(item);
    }
    by
}

fn remove_unwanted(store: &mut Store, wanted: &Store, menu: &'static Menu) -> Result<(), Reason> {
    if !matches!(menu.shape, Shape::List | Shape::Ordered) {
        return Ok(());
    }
    let targets = by_identity(wanted.items(menu.path));
    let mut gone = Vec::new();
    for (known_by, items) in by_identity(store.items(menu.path)) {
        let kept = targets.get(&known_by).map_or(0, Vec::len);
        let surplus = items
            .iter()
            .skip(kept)
            .filter(|item| (item.builtin.is_none() && !item.is_port()) || menu.removable);
        gone.extend(surplus.map(|item| item.id));
    }
    gone.into_iter().try_for_each(|id| store.remove(menu, id))
}

fn add_missing(store: &mut Store, wanted: &Store, menu: &'static Menu) -> Result<(), Reason> {
    let mut present = BTreeMap::<_, Vec<_>>::new();
    for (known_by, items) in by_identity(store.items(menu.path)) {
        present.insert(known_by, items.iter().rev().map(|item| item.id).collect());
    }
    let mut order = Vec::new();
    for target in wanted.items(menu.path) {
        let known = present.get_mut(&identity(target)).and_then(Vec::pop);
        if let Some(id) = known {
            let given = store
                .item(menu.path, id)
                .map(|item| difference(item, target))
                .unwrap_or_default();
            store.set(menu, id, &given)?;
            order.push(id);
        } else if menu.shape != Shape::Fixed && !target.is_port() {
            let given: Given = target
                .values()
                .filter(|(property, _)| !property.read_only)
                .map(|(property, value)| (property.name, Some(value.clone())))
                .collect();
            order.push(store.add(menu, &given, None)?);
        }
    }
    if menu.shape == Shape::Ordered && !is_in_order(store, menu, &order) {
        for id in order {
            store.move_before(menu, id, None)?;
        }
    }
    Ok(())
}

fn is_in_order(store: &Store, menu: &'static Menu, order: &[menu::Id]) -> bool {
    store
        .items(menu.path)
        .map(|item| item.id)
        .eq(order.iter().copied())
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
        let _ = script::export_all(store, menu::Clock::default(), &mut text);
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
    fn one_configuration_becomes_the_other_and_what_is_alike_stays() {
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
    fn what_is_the_same_already_is_not_touched() {
        let mut store = store_of(BEFORE);
        let wanted = store_of(BEFORE);

        let mark = store.begin();
        replace(&mut store, &wanted, &|_| true).expect("the same");

        assert!(store.commit(mark).expect("no journal").is_none());
    }
}
