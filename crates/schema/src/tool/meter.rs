//! `/tool/meter`: CPU cycles of workers by task. RouterOS has no such menu; its `/tool/profile` shows current
//! shares.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{counter, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Processing step"),
        counter("clocks", "Cycles of all workers since the start"),
        shown("usage", Kind::Text, "Share of all cycles since the start"),
    ]],
    columns: &["name", "clocks", "usage"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/tool/meter",
        MenuShape::Rows,
        "Processor cycles of workers, by kind of work",
    )
};
