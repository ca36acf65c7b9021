//! The list of kinds.

use std::collections::BTreeSet;

use super::KINDS;

#[test]
fn each_menu_of_a_kind_holds_interfaces_and_is_of_one_kind() {
    let store = schema::store();
    let mut menus = BTreeSet::new();
    for path in KINDS.iter().flat_map(|kind| kind.menus) {
        let menu = store.menu(path).expect("a menu of this path");
        assert_eq!(menu.space, Some("interface"), "{path}");
        assert_ne!(menu.kind, "", "{path} has a word for its type");
        assert!(menus.insert(path), "{path} is of two kinds");
    }
}
