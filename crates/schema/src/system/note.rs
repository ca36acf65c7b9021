//! `/system/note`: a note shown at login.

use menu::{Menu, MenuShape};

use crate::declare::{no, text, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes(
            "show-at-login",
            "Show the note before the console's first prompt",
        ),
        no(
            "show-at-cli-login",
            "Show the note before the password prompt",
        )
        .inert(),
        text("note", "The note"),
    ]],
    ..Menu::new("/system/note", MenuShape::Settings, "Note shown at login")
};
