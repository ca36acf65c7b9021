//! `/task`: background commands.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{APPEND, NUMBERS, U32, argument, idle_command, required_argument, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("save-interval", Kind::SPAN, "Save interval"),
        Property::new("source", Kind::Text, "Source"),
        shown("term-pid", U32, "Term pid"),
        shown("task-id", U32, "Task identifier"),
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
        idle_command(
            "add",
            "Create a new item",
            &[
                APPEND,
                argument("copy-from", Kind::Text, "Copy from"),
                argument("file-name", Kind::Text, "File name"),
                argument("max-lines", U32, "Greatest lines"),
                argument("max-size", U32, "Greatest size"),
                argument("no-header-paging", Kind::Presence, "No header paging"),
                argument("save-interval", Kind::SPAN, "Save interval"),
                argument("save-timestamp", Kind::Presence, "Save timestamp"),
                argument("source", Kind::Text, "Source"),
                argument("switch-to", Kind::Presence, "Switch to"),
            ],
        ),
        idle_command("next", "Show the next", &[]),
        idle_command("remove", "Remove items", &[NUMBERS]),
        idle_command(
            "terminate",
            "End a command",
            &[required_argument("id", U32, "Identifier")],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/task", MenuShape::Rows, "Commands in the background")
};
