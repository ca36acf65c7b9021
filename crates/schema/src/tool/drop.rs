//! `/tool/drop`: dropped packets by reason. RouterOS has no such menu.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{counter, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("reason", Kind::Text, "Drop reason"),
        shown("service", Kind::Text, "Destination service on this router"),
        counter("packets", "Number of packets since the start"),
        shown("meaning", Kind::Text, "Explanation of the reason"),
    ]],
    columns: &["reason", "service", "packets", "meaning"],
    unnumbered_dynamic: true,
    ..Menu::new("/tool/drop", MenuShape::Rows, "Dropped packets by reason")
};
