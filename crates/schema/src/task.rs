//! `/task`: commands that go on in the background.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::short::{APPEND, COUNT, NUMBERS, idle, may, need, shown};

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
        idle(
            "add",
            "Create a new item",
            &[
                APPEND,
                may("copy-from", Kind::Text, "Copy from"),
                may("file-name", Kind::Text, "File name"),
                may("max-lines", COUNT, "Greatest lines"),
                may("max-size", COUNT, "Greatest size"),
                may("no-header-paging", Kind::Presence, "No header paging"),
                may("save-interval", Kind::SPAN, "Save interval"),
                may("save-timestamp", Kind::Presence, "Save timestamp"),
                may("source", Kind::Text, "Source"),
                may("switch-to", Kind::Presence, "Switch to"),
            ],
        ),
        idle("next", "Show the next", &[]),
        idle("remove", "Remove items", &[NUMBERS]),
        idle(
            "terminate",
            "End a command",
            &[need("id", COUNT, "Identifier")],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/task", Shape::Rows, "Commands in the background")
};
