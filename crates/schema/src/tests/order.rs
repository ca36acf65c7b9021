//! Exports name the menus in one order, which no change of the declarations may move.

use menu::Menu;

use super::ALL;

/// The paths of the menus that exports had when this test was written, in their order.
const EXPORTED: &str = include_str!("exported.txt");

fn in_order() -> Vec<&'static Menu> {
    let mut menus = ALL.to_vec();
    menus.sort_by_key(|menu| menu.rank);
    menus
}

#[test]
fn exports_keep_the_order_of_their_menus() {
    let known: Vec<_> = EXPORTED.lines().collect();
    let menus = in_order().into_iter().map(|menu| menu.path);
    let menus: Vec<_> = menus.filter(|path| known.contains(path)).collect();
    let moved = menus.iter().zip(&known).find(|(is, was)| is != was);
    assert_eq!(moved, None, "a menu and the one that stood in its place");
    assert_eq!(menus.len(), known.len(), "a menu is gone");
}
