//! `/system/doctor`: configuration faults found by ferroute. RouterOS has no such menu.

use menu::{Kind, Menu, MenuShape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("severity", Kind::Text, "error, warning or advice"),
        shown("rule", Kind::Text, "Kind of the mistake"),
        shown("menu", Kind::Text, "The menu of the item at fault"),
        shown("item", Kind::Text, "The item at fault"),
        shown("finding", Kind::Text, "Description of the mistake"),
        shown("cause", Kind::Text, "Cause of the mistake"),
        shown("mend", Kind::Text, "Proposed correction"),
        shown(
            "fix",
            Kind::Text,
            "Commands that correct the mistake, if no decision is needed",
        ),
    ]],
    columns: &["severity", "rule", "finding"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/system/doctor",
        MenuShape::Rows,
        "Mistakes in the configuration, with causes and corrections",
    )
};
