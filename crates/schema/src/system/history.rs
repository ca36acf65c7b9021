//! `/system/history`: actions that can be undone.

use menu::{Flag, Kind, Menu, MenuShape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("redo", Kind::Text, "Command that redoes the action"),
        shown("undo", Kind::Text, "Command that undoes the action"),
        shown("action", Kind::Text, "Description of the action"),
        shown("by", Kind::Text, "User who performed the action"),
        shown("policy", Kind::Text, "Required policy"),
        shown("time", Kind::Text, "Time of the action"),
    ]],
    flags: &[
        Flag::new('U', "undoable", 0),
        Flag::new('R', "redoable", 0),
        Flag::new('F', "floating-undo", 0),
    ],
    columns: &["action", "by", "policy", "time"],
    unnumbered_dynamic: true,
    ..Menu::new("/system/history", MenuShape::Rows, "System history")
};
