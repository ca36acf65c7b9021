//! `/system/history`: what was done and can be undone.

use menu::{Flag, Kind, Menu, Shape};

use crate::brief::read;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("redo", Kind::Text, "The command that does it again"),
        read("undo", Kind::Text, "The command that takes it back"),
        read("action", Kind::Text, "What was done"),
        read("by", Kind::Text, "Who did it"),
        read("policy", Kind::Text, "What right it takes"),
        read("time", Kind::Text, "When it was done"),
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
