//! Messages and notes that a router writes once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menu::Value;

use super::{Instance, UNTOLD};
use crate::drive::Setup;
use crate::store::{Durable, Key, OnDamage};

/// Creates a folder for one test.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ferroute-first-{name}-{}", std::process::id()))
}

/// Starts a router with this state; returns it with its notes.
fn started(state: &Path) -> (Instance, BTreeMap<String, String>) {
    let key = Key::new([7; 32], "a test");
    let durable = Durable::open(state, &key, OnDamage::Refuse).expect("nobody else has it");
    let kept = durable.load().expect("it can be read");
    let mut store = schema::store();
    store.set_seal(|_, _, text| Ok(format!("sealed {text}")), |_, _| false);
    let notes = kept.map_or_else(BTreeMap::new, |kept| {
        assert_eq!(store.load(&kept.saved), Vec::<String>::new());
        kept.notes
    });
    store.set_journal(Box::new(durable));
    let (router, _) = Instance::new(&Setup::offline(menu::Clock::utc(0)), store)
        .expect("memory for a small pool");
    (router, notes)
}

fn sealed(router: &Instance) -> String {
    let admin = router.store().named("user", "admin");
    admin.expect("it is there").text("password").to_owned()
}

#[test]
fn a_first_password_that_was_never_shown_is_replaced_at_the_next_start() {
    let state = folder("untold");
    let (mut router, notes) = started(&state);
    assert_eq!(router.give_first_password(&notes, "one"), Ok(true));
    // Killed before anybody was told the password.
    drop(router);

    let (mut router, notes) = started(&state);
    assert_eq!(sealed(&router), "sealed one");
    assert_eq!(router.give_first_password(&notes, "two"), Ok(true));
    assert_eq!(sealed(&router), "sealed two");
    assert_eq!(router.first_password_is_told(), Ok(()));
    drop(router);

    let (mut router, notes) = started(&state);
    assert_eq!(router.give_first_password(&notes, "three"), Ok(false));
    assert_eq!(sealed(&router), "sealed two");
    drop(router);
    let _ = std::fs::remove_dir_all(&state);
}

#[test]
fn a_password_that_the_user_set_meanwhile_is_kept() {
    let state = folder("own");
    let (mut router, notes) = started(&state);
    assert_eq!(router.give_first_password(&notes, "one"), Ok(true));
    router.lend(&mut |store, _| {
        let menu = store.menu("/user").expect("a menu");
        let admin = store.named("user", "admin").expect("it is there").id;
        let mark = store.begin();
        let own = Some(Value::text("sealed own"));
        store
            .set(menu, admin, &[("password", own)])
            .expect("it fits");
        store.commit(mark).expect("there is room");
    });
    drop(router);

    let (mut router, notes) = started(&state);
    assert!(notes.contains_key(UNTOLD));
    assert_eq!(router.give_first_password(&notes, "two"), Ok(false));
    assert_eq!(sealed(&router), "sealed own");
    drop(router);

    let (router, notes) = started(&state);
    assert!(!notes.contains_key(UNTOLD));
    drop(router);
    let _ = std::fs::remove_dir_all(&state);
}
