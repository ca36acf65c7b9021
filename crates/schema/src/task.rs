//! `/task`: background commands.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{APPEND, NUMBERS, U32, argument, idle_command, required_argument, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("save-interval", Kind::SPAN, "Save interval"),
        Property::new("source", Kind::Text, "Source"),
        shown("term-pid", U32, "Process identifier of the terminal"),
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
                argument("max-lines", U32, "Maximum number of lines"),
                argument("max-size", U32, "Maximum size"),
                argument("no-header-paging", Kind::Presence, "No header paging"),
                argument("save-interval", Kind::SPAN, "Save interval"),
                argument("save-timestamp", Kind::Presence, "Save timestamp"),
                argument("source", Kind::Text, "Source"),
                argument("switch-to", Kind::Presence, "Switch to the task"),
            ],
        ),
        idle_command("next", "Show the next task", &[]),
        idle_command("remove", "Remove items", &[NUMBERS]),
        idle_command(
            "terminate",
            "Terminate a task",
            &[required_argument("id", U32, "Identifier")],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/task", MenuShape::Rows, "Commands in the background")
};
