//! `/system/note`: a note for those who log in.

use menu::{Menu, Shape};

use crate::short::{switch, text};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        switch(
            "show-at-login",
            "yes",
            "Shows the note before the console's first prompt",
        ),
        switch(
            "show-at-cli-login",
            "no",
            "Shows the note before the password is asked for",
        )
        .inert(),
        text("note", "The note"),
    ]],
    ..Menu::new("/system/note", Shape::Settings, "Note for those who log in")
};
