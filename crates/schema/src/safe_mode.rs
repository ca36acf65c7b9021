//! `/safe-mode`: changes that are reverted if the session ends abnormally.

use menu::{Kind, Menu, Shape};

use crate::declare::{argument, command, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("enabled", Kind::Bool, "Whether somebody is in safe mode"),
        shown("user", Kind::Text, "Who is"),
        shown("current", Kind::Bool, "Whether it is this session"),
        shown("owner", Kind::Text, "How its session came here"),
    ]],
    commands: &[
        command("release", "Keep the changes and leave safe mode", &[]),
        command(
            "take",
            "Enter safe mode",
            &[argument(
                "on-error",
                Kind::Words(&["abort", "ask", "release", "unroll"]),
                "What becomes of the changes of who is in safe mode already",
            )],
        ),
        command("toggle", "Enter safe mode, or leave it", &[]),
        command("unroll", "Take the changes back and leave safe mode", &[]),
    ],
    ..Menu::new("/safe-mode", Shape::Status, "Safe mode")
};
