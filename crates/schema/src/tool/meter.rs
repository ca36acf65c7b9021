//! `/tool/meter`: CPU cycles of workers by task. RouterOS has no such menu; its `/tool/profile` shows current
//! shares.

use menu::{Kind, Menu, Shape};

use crate::declare::{counter, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "What workers were busy with"),
        counter("clocks", "How many clocks since the start, of all workers"),
        shown(
            "usage",
            Kind::Text,
            "Its share of all clocks since the start",
        ),
    ]],
    columns: &["name", "clocks", "usage"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/tool/meter",
        Shape::Rows,
        "Clocks of workers, by what they were spent on",
    )
};
