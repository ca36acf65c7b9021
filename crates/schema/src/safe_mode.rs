//! `/safe-mode`: changes that are reverted if the session ends abnormally.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{argument, command, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("enabled", Kind::Bool, "Whether somebody is in safe mode"),
        shown("user", Kind::Text, "User who is in safe mode"),
        shown(
            "current",
            Kind::Bool,
            "Whether this session is in safe mode",
        ),
        shown("owner", Kind::Text, "Access method of the session"),
    ]],
    commands: &[
        command("release", "Keep the changes and leave safe mode", &[]),
        command(
            "take",
            "Enter safe mode",
            &[argument(
                "on-error",
                Kind::Words(&["abort", "ask", "release", "unroll"]),
                "Handling of the changes of a user who is already in safe mode",
            )],
        ),
        command("toggle", "Enter safe mode, or leave it", &[]),
        command("unroll", "Take the changes back and leave safe mode", &[]),
    ],
    ..Menu::new("/safe-mode", MenuShape::Status, "Safe mode")
};
