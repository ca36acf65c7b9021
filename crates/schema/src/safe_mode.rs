//! `/safe-mode`: changes that are reverted if the session ends abnormally.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{argument, command, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("enabled", Kind::Bool, "A user is in safe mode"),
        shown("user", Kind::Text, "User who is in safe mode"),
        shown("current", Kind::Bool, "This session is in safe mode"),
        shown("owner", Kind::Text, "Access method of the session"),
        shown(
            "revision",
            Kind::COUNTER,
            "Revision of the configuration when safe mode began",
        ),
    ]],
    commands: &[
        command("release", "Leave safe mode and keep the changes", &[]),
        command(
            "take",
            "Enter safe mode",
            &[argument(
                "on-error",
                Kind::Words(&["abort", "ask", "release", "unroll"]),
                "Handling of the changes of the current owner",
            )],
        ),
        command("toggle", "Enter or leave safe mode", &[]),
        command("unroll", "Leave safe mode and undo the changes", &[]),
    ],
    ..Menu::new("/safe-mode", MenuShape::Status, "Safe mode")
};
