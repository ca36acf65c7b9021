//! `/system/doctor`: configuration faults found by ferroute. RouterOS has no such menu.

use menu::{Kind, Menu, Shape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("severity", Kind::Text, "error, warning or advice"),
        shown("rule", Kind::Text, "What kind of mistake it is"),
        shown("menu", Kind::Text, "The menu of the item at fault"),
        shown("item", Kind::Text, "The item at fault"),
        shown("finding", Kind::Text, "What is wrong with it"),
        shown("cause", Kind::Text, "Why that is a mistake"),
        shown("mend", Kind::Text, "What is right instead"),
        shown(
            "fix",
            Kind::Text,
            "Commands that mend it, if nobody has to decide",
        ),
    ]],
    columns: &["severity", "rule", "finding"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/system/doctor",
        Shape::Rows,
        "Mistakes in the configuration, with cause and mend",
    )
};
