//! `/task`: commands that go on in the background.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::short::{COUNT, idle, need, shown};

/// The menus of this file.
pub(crate) const MENUS: &[&Menu] = &[&MENU];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("save-interval", Kind::SPAN, "Save interval"),
        Property::new("source", Kind::Text, "Source"),
        shown("term-pid", COUNT, "Term pid"),
        shown("task-id", COUNT, "Task identifier"),
        shown("user", Kind::Text, "User"),
        shown("name", Kind::Text, "Name"),
    ]],
    flags: &[
        Flag::new('T', "terminated", 0),
        Flag::new('C', "current", 1),
        Flag::new('A', "autosave", 2),
    ],
    columns: &["name", "user"],
    commands: &[
        idle("next", "Show the next", &[]),
        idle(
            "terminate",
            "End a command",
            &[need("id", COUNT, "Identifier")],
        ),
    ],
    effect: Effect::None,
    rank: 996,
    ..Menu::new("/task", Shape::Rows, "Commands in the background")
};
