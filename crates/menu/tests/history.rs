//! The history: undo and redo of all kinds of changes.

use std::sync::Arc;

use menu::{
    By, Changes, Clock, Id, Kind, Menu, MenuShape, Origin, Property, Reason, Saved, Store,
    UndoState, Unique, Value,
};
use proptest::prelude::*;

static LEAF: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "its name").required(),
        Property::new("size", Kind::Number { min: 0, max: 9 }, "how large").default("1"),
        Property::new("other", Kind::Reference("leaf"), "another leaf").optional(),
    ]],
    space: Some("leaf"),
    key: Some("name"),
    ..Menu::new("/leaf", MenuShape::List, "leaves")
};

static RULE: Menu = Menu {
    properties: &[&[
        Property::new("mark", Kind::Text, "a mark").required(),
        Property::new("leaf", Kind::List(&Kind::Reference("leaf")), "some leaves").default(""),
    ]],
    unique: &[Unique {
        properties: &["mark"],
        failure: "already have such mark",
    }],
    ..Menu::new("/rule", MenuShape::Ordered, "rules")
};

static TREE: Menu = Menu {
    properties: &[&[
        Property::new("height", Kind::Number { min: 0, max: 99 }, "how high").default("1"),
    ]],
    ..Menu::new("/tree", MenuShape::Settings, "the tree")
};

static MENUS: &[&Menu] = &[&LEAF, &RULE, &TREE];

fn by(user: &str) -> By {
    By::user(user, Clock::utc(0))
}

/// All items, without the next free ids and the revision.
fn items(store: &Store) -> (Saved, Vec<Id>) {
    let mut saved = store.save();
    saved.revision = 0;
    saved.last_ids.clear();
    let order = store.items("/rule").map(|item| item.id).collect();
    (saved, order)
}

/// One edit; its numbers select among the existing items.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Add(u8),
    Rename(u8, u8),
    Resize(u8, u8),
    Refer(u8, u8),
    Remove(u8),
    AddRule(u8, u8, u8),
    MoveRule(u8, u8),
    RemoveRule(u8),
    Grow(u8),
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = any::<u8>();
    prop_oneof![
        n.prop_map(Edit::Add),
        (n, n).prop_map(|(a, b)| Edit::Rename(a, b)),
        (n, n).prop_map(|(a, b)| Edit::Resize(a, b)),
        (n, n).prop_map(|(a, b)| Edit::Refer(a, b)),
        n.prop_map(Edit::Remove),
        (n, n, n).prop_map(|(a, b, c)| Edit::AddRule(a, b, c)),
        (n, n).prop_map(|(a, b)| Edit::MoveRule(a, b)),
        n.prop_map(Edit::RemoveRule),
        n.prop_map(Edit::Grow),
    ]
}

fn pick(store: &Store, path: &str, number: u8) -> Option<Id> {
    let ids: Vec<_> = store.items(path).map(|item| item.id).collect();
    let index = usize::from(number).checked_rem(ids.len())?;
    ids.get(index).copied()
}

/// Makes an edit. A refused edit changes nothing.
fn make(store: &mut Store, edit: Edit) -> Option<()> {
    let name = |number: u8| Some(Value::text(format!("leaf{}", number % 12)));
    match edit {
        Edit::Add(n) => drop(store.add(&LEAF, &[("name", name(n))], None)),
        Edit::Rename(n, to) => {
            let id = pick(store, "/leaf", n)?;
            let _ = store.set(&LEAF, id, &[("name", name(to))]);
        }
        Edit::Resize(n, size) => {
            let id = pick(store, "/leaf", n)?;
            let size = Value::Number(i64::from(size % 10));
            let _ = store.set(&LEAF, id, &[("size", Some(size))]);
        }
        Edit::Refer(n, to) => {
            let (id, to) = (pick(store, "/leaf", n)?, pick(store, "/leaf", to)?);
            let to = store.item("/leaf", to)?.name()?.to_owned();
            let _ = store.set(&LEAF, id, &[("other", Some(Value::Reference(to.into())))]);
        }
        Edit::Remove(n) => {
            let id = pick(store, "/leaf", n)?;
            let _ = store.remove(&LEAF, id);
        }
        Edit::AddRule(mark, leaf, before) => {
            let leaf = pick(store, "/leaf", leaf).and_then(|id| store.item("/leaf", id)?.name());
            let leaf = leaf.map(|name| Value::Reference(name.into()));
            let before = (before % 2 == 0)
                .then(|| pick(store, "/rule", before))
                .flatten();
            let given = [
                ("mark", Some(Value::text(format!("{}", mark % 20)))),
                ("leaf", Some(Value::List(leaf.into_iter().collect()))),
            ];
            let _ = store.add(&RULE, &given, before);
        }
        Edit::MoveRule(n, before) => {
            let id = pick(store, "/rule", n)?;
            let before = pick(store, "/rule", before);
            let _ = store.move_before(&RULE, id, before);
        }
        Edit::RemoveRule(n) => {
            let id = pick(store, "/rule", n)?;
            let _ = store.remove(&RULE, id);
        }
        Edit::Grow(n) => {
            let height = Value::Number(i64::from(n % 100));
            let _ = store.set(&TREE, Id::SETTINGS, &[("height", Some(height))]);
        }
    }
    Some(())
}

fn transaction(store: &mut Store, edits: &[Edit], user: &str) -> Option<Arc<Changes>> {
    let mark = store.begin();
    for edit in edits {
        let _ = make(store, *edit);
    }
    store
        .commit_by(mark, by(user))
        .expect("nothing is journaled")
}

proptest! {
    #[test]
    fn undo_and_redo_restore_every_state(
        transactions in prop::collection::vec(prop::collection::vec(edit(), 1..6), 1..24),
    ) {
        let mut store = Store::new(MENUS);
        let mut states = vec![items(&store)];
        for edits in &transactions {
            if transaction(&mut store, edits, "admin").is_some() {
                states.push(items(&store));
            }
        }

        for state in states.iter().rev().skip(1) {
            store.undo(by("other")).expect("there is more to undo");
            prop_assert_eq!(&items(&store), state);
        }
        prop_assert_eq!(store.undo(by("other")).err(), Some(Reason::failure("nothing to undo")));
        for state in states.iter().skip(1) {
            store.redo(by("admin")).expect("there is more to redo");
            prop_assert_eq!(&items(&store), state);
        }
        prop_assert_eq!(store.redo(by("admin")).err(), Some(Reason::failure("nothing to redo")));
    }

    #[test]
    fn a_held_state_is_restored_after_later_changes(
        before in prop::collection::vec(edit(), 1..20),
        since in prop::collection::vec(prop::collection::vec(edit(), 1..6), 0..12),
        undone in 0..4usize,
    ) {
        let mut store = Store::new(MENUS);
        transaction(&mut store, &before, "admin");
        let state = items(&store);
        store.hold().expect("nothing is journaled");
        for edits in &since {
            transaction(&mut store, edits, "somebody");
        }
        for _ in 0..undone.min(since.len()) {
            let _ = store.undo(by("admin"));
        }

        store.unroll(by("admin"), menu::Policies::ALL).expect("it is held");

        prop_assert_eq!(items(&store), state);
        prop_assert_eq!(store.held_since(), None);
    }

    #[test]
    fn a_known_revision_can_be_restored(
        transactions in prop::collection::vec(prop::collection::vec(edit(), 1..6), 1..12),
        to in any::<prop::sample::Index>(),
    ) {
        let mut store = Store::new(MENUS);
        let mut states = vec![items(&store)];
        for edits in &transactions {
            if transaction(&mut store, edits, "admin").is_some() {
                states.push(items(&store));
            }
        }
        let to = to.index(states.len());

        store.revert_to(to as u64, by("admin")).expect("it is known");

        prop_assert_eq!(&items(&store), &states[to]);
    }
}

fn leaf(store: &mut Store, name: &str, user: &str) -> Id {
    let mark = store.begin();
    let id = store
        .add(&LEAF, &[("name", Some(Value::text(name)))], None)
        .expect("a new name");
    store
        .commit_by(mark, by(user))
        .expect("nothing is journaled");
    id
}

fn standing(store: &Store) -> String {
    let letter = |(changes, standing): (&Arc<Changes>, UndoState)| match standing {
        UndoState::Undoable => format!("U {}", changes.action()),
        UndoState::Redoable => format!("R {}", changes.action()),
        UndoState::Floating => format!("F {}", changes.action()),
    };
    store.actions().map(letter).collect::<Vec<_>>().join("; ")
}

#[test]
fn all_users_share_one_history_and_a_new_change_discards_redo() {
    let mut store = Store::new(MENUS);
    leaf(&mut store, "a", "anna");
    leaf(&mut store, "b", "bert");

    store.undo(by("anna")).expect("what bert did");
    assert_eq!(standing(&store), "R leaf b added; U leaf a added");
    leaf(&mut store, "c", "anna");

    assert_eq!(standing(&store), "U leaf c added; U leaf a added");
    assert!(store.redo(by("bert")).is_err());
}

#[test]
fn dynamic_changes_are_not_undone_and_survive_undo() {
    let mut store = Store::new(MENUS);
    let id = leaf(&mut store, "a", "anna");
    let mark = store.begin();
    store
        .set(&LEAF, id, &[("size", Some(Value::Number(5)))])
        .expect("5 is a size");
    store
        .commit_by(mark, by("anna"))
        .expect("nothing is journaled");
    let mark = store.begin();
    store
        .set(&LEAF, id, &[("name", Some(Value::text("z")))])
        .expect("a new name");
    store.commit(mark).expect("nothing is journaled");

    store.undo(by("anna")).expect("the size");

    let item = store.item("/leaf", id).expect("it is there");
    assert_eq!((item.text("name"), item.number("size")), ("z", Some(1)));
    assert_eq!(standing(&store), "R leaf a changed; U leaf a added");
}

#[test]
fn a_conflicting_undo_is_refused_without_changes() {
    let mut store = Store::new(MENUS);
    let id = leaf(&mut store, "a", "anna");
    let mark = store.begin();
    store.remove(&LEAF, id).expect("it is there");
    let removed = store
        .commit_by(mark, by("anna"))
        .expect("nothing is journaled");
    leaf(&mut store, "a", "bert");
    let before = items(&store);
    let removed = removed.expect("a removal");

    let refused = store.take_back(&removed, by("anna"));

    assert_eq!(
        refused.err(),
        Some(Reason::failure("already have leaf with such name"))
    );
    assert_eq!(items(&store), before);
}

#[test]
fn the_history_is_bounded_and_restored_from_the_log() {
    let mut store = Store::new(MENUS);
    for number in 0..300 {
        leaf(&mut store, &format!("leaf{number}"), "anna");
    }
    store.undo(by("anna")).expect("the last");
    store.undo(by("anna")).expect("the one before");
    store.redo(by("anna")).expect("the one before");

    let mut again = Store::new(MENUS);
    again.load_history(store.history().map(|changes| Changes::clone(changes)));

    assert!(store.history().count() < 300);
    assert_eq!(standing(&again), standing(&store));
    assert!(standing(&store).starts_with("R leaf leaf299 added; U leaf leaf298 added; "));
    assert!(store.back_to(1).is_err(), "too long ago");
}

#[test]
fn changes_during_safe_mode_are_marked_floating() {
    let mut store = Store::new(MENUS);
    leaf(&mut store, "a", "anna");
    store.hold().expect("nothing is journaled");
    leaf(&mut store, "b", "bert");
    assert_eq!(standing(&store), "F leaf b added; U leaf a added");

    let given_back = store
        .unroll(by("anna"), menu::Policies::ALL)
        .expect("it is held");

    assert_eq!(given_back.map(|c| c.origin), Some(Origin::Unroll(1)));
    assert_eq!(standing(&store), "U leaf a added");
}
