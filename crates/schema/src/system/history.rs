//! `/system/history`: actions that can be undone.

use menu::{Flag, Kind, Menu, Shape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("redo", Kind::Text, "The command that does it again"),
        shown("undo", Kind::Text, "The command that takes it back"),
        shown("action", Kind::Text, "What was done"),
        shown("by", Kind::Text, "Who did it"),
        shown("policy", Kind::Text, "What right it takes"),
        shown("time", Kind::Text, "When it was done"),
    ]],
    flags: &[
        Flag::new('U', "undoable", 0),
        Flag::new('R', "redoable", 0),
        Flag::new('F', "floating-undo", 0),
    ],
    columns: &["action", "by", "policy", "time"],
    unnumbered_dynamic: true,
    ..Menu::new("/system/history", Shape::Rows, "System history")
};
