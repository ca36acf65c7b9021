//! Transactions: their changes, their rollback and their notifications.

use std::sync::{Arc, Mutex};

use menu::{
    Builtin, By, Changes, Command, Effect, Id, Journal, Kind, Menu, MenuShape, Offline, Property,
    Reason, RowFilter, Slices, Store, Unique, Value, export, print,
};

static LEAF: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "its name").required(),
        Property::new("size", Kind::Number { min: 0, max: 9 }, "how large").default("1"),
        Property::new("other", Kind::Reference("leaf"), "another leaf").optional(),
    ]],
    space: Some("leaf"),
    key: Some("name"),
    builtin: &[Builtin {
        values: &[("name", "root")],
    }],
    ..Menu::new("/leaf", MenuShape::List, "leaves")
};

static RULE: Menu = Menu {
    properties: &[&[
        Property::new("leaf", Kind::List(&Kind::Reference("leaf")), "some leaves").default(""),
        Property::new("mark", Kind::Text, "a mark").required(),
    ]],
    unique: &[Unique {
        properties: &["mark"],
        failure: "already have such mark",
    }],
    ..Menu::new("/rule", MenuShape::Ordered, "rules")
};

static IDLE: Menu = Menu {
    properties: &[&[Property::new("name", Kind::Name, "its name").required()]],
    columns: &["name"],
    effect: Effect::None,
    commands: &[Command {
        name: "ring",
        help: "rings",
        arguments: &[],
        effect: Effect::Full,
        repeats: false,
    }],
    ..Menu::new("/idle", MenuShape::List, "bells that do not ring")
};

static PARTLY: Menu = Menu {
    properties: &[&[
        Property::new("good", Kind::Number { min: 0, max: 9 }, "counts").default("1"),
        Property::new("vain", Kind::Number { min: 0, max: 9 }, "does not count")
            .default("1")
            .inert(),
    ]],
    ..Menu::new(
        "/partly",
        MenuShape::Settings,
        "settings of which one does nothing",
    )
};

static DOOR: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "its name").read_only(),
        Property::new("width", Kind::Number { min: 0, max: 9 }, "how wide").default("1"),
    ]],
    key: Some("name"),
    pick: menu::ExportSelector::Name,
    builtin: &[
        Builtin {
            values: &[("name", "front"), ("width", "3")],
        },
        Builtin {
            values: &[("name", "back")],
        },
    ],
    ..Menu::new("/door", MenuShape::Fixed, "doors")
};

static MENUS: &[&Menu] = &[&LEAF, &RULE, &IDLE, &PARTLY, &DOOR];

/// Records commits; fails on request.
#[derive(Clone, Default)]
struct Notes {
    kept: Arc<Mutex<Vec<(u64, usize)>>>,
    fails: Arc<Mutex<bool>>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Journal for Notes {
    fn note(&mut self, name: &str, _: Option<&str>) -> Result<(), String> {
        self.notes.lock().expect("one thread").push(name.to_owned());
        Ok(())
    }

    fn commit(&mut self, changes: &Changes) -> Result<(), String> {
        if *self.fails.lock().expect("one thread") {
            return Err("disk full".to_owned());
        }
        self.kept
            .lock()
            .expect("one thread")
            .push((changes.revision, changes.list.len()));
        Ok(())
    }
}

fn leaf(store: &mut Store, name: &str) -> Result<Id, Reason> {
    store.add(&LEAF, &[("name", Some(Value::text(name)))], None)
}

fn rule(store: &mut Store, mark: &str, leaves: &str, before: Option<Id>) -> Result<Id, Reason> {
    let property = RULE.property("leaf").expect("it is declared");
    let leaves = store.parse(property, leaves)?;
    store.add(
        &RULE,
        &[("mark", Some(Value::text(mark))), ("leaf", leaves)],
        before,
    )
}

fn marks(store: &Store) -> String {
    store.items("/rule").map(|item| item.text("mark")).collect()
}

#[test]
fn a_commit_reports_each_item_once_with_its_previous_state() {
    let mut store = Store::new(MENUS);
    let notes = Notes::default();
    store.set_journal(Box::new(notes.clone()));
    let mark = store.begin();
    let a = leaf(&mut store, "a").expect("the name is free");
    let b = leaf(&mut store, "b").expect("the name is free");
    store
        .set(&LEAF, a, &[("size", Some(Value::Number(5)))])
        .expect("5 is in range");
    store.remove(&LEAF, b).expect("it is there");

    let changes = store
        .commit(mark)
        .expect("the journal works")
        .expect("there are changes");

    assert_eq!(changes.revision, 1);
    let [change] = &changes.list[..] else {
        panic!("{changes:?}")
    };
    assert!(change.before.is_none());
    assert_eq!(
        change.after.as_ref().and_then(|item| item.number("size")),
        Some(5)
    );
    assert_eq!(*notes.kept.lock().expect("one thread"), [(1, 1)]);
}

#[test]
fn a_savepoint_rolls_back_part_of_a_transaction() {
    let mut store = Store::new(MENUS);
    let outer = store.begin();
    leaf(&mut store, "a").expect("the name is free");
    let inner = store.begin();
    leaf(&mut store, "b").expect("the name is free");
    store.rollback(inner);
    let again = store.begin();
    leaf(&mut store, "b").expect("the name is free again");
    assert!(
        store.commit(again).expect("nothing is journaled").is_none(),
        "it goes on"
    );

    let changes = store
        .commit(outer)
        .expect("nothing is journaled")
        .expect("there are changes");

    assert_eq!(changes.list.len(), 2);
    assert_eq!(
        store
            .items("/leaf")
            .filter_map(|item| item.name())
            .collect::<String>(),
        "rootab"
    );
}

#[test]
fn changes_that_the_journal_refuses_are_rolled_back() {
    let mut store = Store::new(MENUS);
    let notes = Notes::default();
    store.set_journal(Box::new(notes.clone()));
    *notes.fails.lock().expect("one thread") = true;
    let mark = store.begin();
    leaf(&mut store, "a").expect("the name is free");

    let failed = store.commit(mark);

    assert_eq!(failed.err(), Some(Reason::Storage("disk full".to_owned())));
    assert_eq!((store.count("/leaf"), store.revision()), (1, 0));
    *notes.fails.lock().expect("one thread") = false;
    let mark = store.begin();
    let id = leaf(&mut store, "a").expect("the name is free");
    assert_eq!(
        id,
        Id(3),
        "an id is not used twice, not even by what never was"
    );
    assert!(store.commit(mark).expect("the journal works").is_some());
}

#[test]
fn a_transaction_without_changes_is_not_recorded() {
    let mut store = Store::new(MENUS);
    let mark = store.begin();
    let id = leaf(&mut store, "a").expect("the name is free");
    store.remove(&LEAF, id).expect("it is there");
    let root = store
        .by_name(&LEAF, "root")
        .expect("it exists from the start");
    store
        .set(&LEAF, root, &[("size", Some(Value::Number(1)))])
        .expect("1 is in range");

    assert!(store.commit(mark).expect("nothing is journaled").is_none());
    assert_eq!(store.revision(), 0);
}

#[test]
fn names_are_unique_and_references_follow_renames() {
    let mut store = Store::new(MENUS);
    let mark = store.begin();
    let a = leaf(&mut store, "a").expect("the name is free");
    leaf(&mut store, "b").expect("the name is free");
    let r = rule(&mut store, "x", "a,b", None).expect("the leaves are there");
    let text = |store: &Store| {
        store
            .item("/rule", r)
            .and_then(|item| item.get("leaf").map(ToString::to_string))
    };

    assert_eq!(
        leaf(&mut store, "a"),
        Err(Reason::failure("already have leaf with such name"))
    );
    assert_eq!(
        rule(&mut store, "x", "", None),
        Err(Reason::failure("already have such mark"))
    );
    assert_eq!(
        rule(&mut store, "y", "c", None),
        Err(Reason::no_match("leaf"))
    );
    store
        .set(&LEAF, a, &[("name", Some(Value::text("c")))])
        .expect("the name is free");
    assert_eq!(text(&store).as_deref(), Some("c,b"));
    store.remove(&LEAF, a).expect("it is there");
    assert_eq!(text(&store).as_deref(), Some("*2,b"));
    assert!(
        store
            .item("/rule", r)
            .is_some_and(|item| store.is_dangling(item))
    );
    store.rollback(mark);
    assert_eq!((store.count("/leaf"), store.count("/rule")), (1, 0));
    assert!(store.named("leaf", "b").is_none());
}

#[test]
fn an_ordered_menu_keeps_its_order_after_many_moves() {
    let mut store = Store::new(MENUS);
    let mark = store.begin();
    let mut last = rule(&mut store, "a", "", None).expect("the mark is new");
    let first = last;
    // More insertions than there are free positions between two neighbours.
    for n in 0..60 {
        last = rule(&mut store, &format!("{n},"), "", Some(last)).expect("the mark is new");
    }
    store
        .move_before(&RULE, first, Some(last))
        .expect("both are there");
    assert!(store.commit(mark).expect("nothing is journaled").is_some());

    let expected: String = (0..60).rev().map(|n| format!("{n},")).collect();
    assert_eq!(marks(&store), format!("a{expected}"));
    let mark = store.begin();
    store.move_before(&RULE, first, None).expect("it is there");
    store.rollback(mark);
    assert_eq!(marks(&store), format!("a{expected}"));
}

#[test]
fn many_items_are_added_without_scanning_the_others() {
    let mut store = Store::new(MENUS);
    let mark = store.begin();
    for n in 0..50_000 {
        leaf(&mut store, &format!("leaf{n}")).expect("the name is free");
    }
    let changes = store
        .commit(mark)
        .expect("nothing is journaled")
        .expect("there are changes");

    assert_eq!(changes.list.len(), 50_000);
    assert!(store.named("leaf", "leaf49999").is_some());
}

fn printed(store: &Store, menu: &'static Menu, style: print::Style) -> String {
    let mut text = String::new();
    let options = print::Options {
        style,
        ..print::Options::default()
    };
    let mut printer = print::Printer::new(menu, options);
    let mut slices = Slices::new(menu);
    loop {
        let rows = slices.next(store, &Offline, &RowFilter::default(), 10);
        if rows.is_empty() {
            break;
        }
        let _ = printer.rows(rows, &mut text);
    }
    text
}

#[test]
fn items_without_effect_are_stored_exported_and_marked() {
    let mut store = Store::new(MENUS);
    let clean = printed(&store, &PARTLY, print::Style::Brief);
    let mark = store.begin();
    store
        .add(&IDLE, &[("name", Some(Value::text("bell")))], None)
        .expect("the name is given");
    store
        .set(&PARTLY, Id::SETTINGS, &[("vain", Some(Value::Number(2)))])
        .expect("2 is in range");
    store.commit(mark).expect("nothing is journaled");

    assert_eq!(clean, "  good: 1\n  vain: 1\n");
    assert_eq!(
        printed(&store, &IDLE, print::Style::Brief),
        "Columns: NAME\n# NAME\n;;; no effect: /idle\n0 bell\n"
    );
    assert!(printed(&store, &IDLE, print::Style::Detail).contains(";;; no effect: "));
    assert_eq!(
        printed(&store, &PARTLY, print::Style::Brief),
        ";;; no effect: vain\n  good: 1\n  vain: 2\n"
    );
    let mut text = String::new();
    let _ = export::export(&store, &export::Options::default(), &mut text);
    assert_eq!(text, "/idle\nadd name=bell\n/partly\nset vain=2\n");
    for (command, idle) in [("add", true), ("ring", true), ("print", false)] {
        assert_eq!(IDLE.is_idle(command), idle, "{command}");
    }
    assert!(!PARTLY.is_idle("set"));
}

#[test]
fn fixed_items_are_exported_by_name_and_return_when_a_saved_store_lacks_them() {
    let mut store = Store::new(MENUS);
    let exported = |store: &Store| {
        let mut text = String::new();
        let options = export::Options {
            style: export::Style::Terse,
            ..Default::default()
        };
        let _ = export::export(store, &options, &mut text);
        text
    };
    assert!(!exported(&store).contains("/door"));

    let back = store.by_name(&DOOR, "back").expect("a door");
    let mark = store.begin();
    let wide = [("width", Some(Value::Number(4)))];
    store.set(&DOOR, back, &wide).expect("a width");
    let _ = store.commit(mark).expect("kept in memory");
    assert!(exported(&store).contains("/door set back width=4\n"));

    let mut saved = store.save();
    saved.items.retain(|item| {
        &*item.path != "/door" || item.values.iter().any(|(_, value)| value == "back")
    });
    let mut loaded = Store::new(MENUS);
    assert_eq!(loaded.load(&saved), Vec::<String>::new());
    let names: Vec<_> = loaded.items("/door").filter_map(|i| i.name()).collect();
    assert_eq!(names, ["back", "front"]);
}

#[test]
fn others_read_but_cannot_commit_while_a_commit_is_written() {
    let mut store = Store::new(MENUS);
    let journal = Notes::default();
    store.set_journal(Box::new(journal.clone()));
    let mark = store.begin();
    leaf(&mut store, "a").expect("the name is free");

    let commit = store.start_commit(mark, By::default());
    let mut commit = commit.expect("no guard").expect("there is a change");
    store.set_read_only(true);
    let other = store.begin();
    leaf(&mut store, "b").expect("the name is free");
    let refused = store.commit(other);
    store.note("login", Some("now")).expect("it is kept");
    commit.store();
    store.set_read_only(false);
    let changes = store.end_commit(commit).expect("the journal works");

    assert!(matches!(refused, Err(Reason::Failure(_))), "{refused:?}");
    assert_eq!(changes.list.len(), 1);
    assert!(store.named("leaf", "a").is_some());
    assert!(store.named("leaf", "b").is_none());
    assert_eq!(*journal.kept.lock().expect("one thread"), [(1, 1)]);
    assert_eq!(*journal.notes.lock().expect("one thread"), ["login"]);
    assert!(!store.is_open());
}

#[test]
fn a_commit_that_the_journal_refuses_is_rolled_back_at_its_end() {
    let mut store = Store::new(MENUS);
    let journal = Notes::default();
    store.set_journal(Box::new(journal.clone()));
    *journal.fails.lock().expect("one thread") = true;
    let mark = store.begin();
    leaf(&mut store, "a").expect("the name is free");

    let commit = store.start_commit(mark, By::default());
    let mut commit = commit.expect("no guard").expect("there is a change");
    commit.store();
    let failed = store.end_commit(commit);

    let disk_full = Reason::Storage("disk full".to_owned());
    assert_eq!(failed.err(), Some(disk_full));
    assert!(store.named("leaf", "a").is_none());
    *journal.fails.lock().expect("one thread") = false;
    let mark = store.begin();
    leaf(&mut store, "b").expect("the name is free");
    assert!(matches!(store.commit(mark), Ok(Some(_))));
}

#[test]
fn a_transaction_of_a_dead_thread_is_rolled_back() {
    let mut store = Store::new(MENUS);
    let mark = store.begin();
    leaf(&mut store, "a").expect("the name is free");
    drop(store.start_commit(mark, By::default()));

    store.abandon();

    assert!(!store.is_open());
    assert!(store.named("leaf", "a").is_none());
    let mark = store.begin();
    leaf(&mut store, "b").expect("the name is free");
    assert!(matches!(store.commit(mark), Err(Reason::Storage(_))));
}
