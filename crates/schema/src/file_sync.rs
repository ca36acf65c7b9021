//! `/file/rsync-daemon` and `/file/sync`: file synchronisation.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{MONITORED_ITEMS, idle_command, no, shown, text};
use crate::fragment::COMMENT_DISABLED;
use crate::spelling::HOST;

pub(crate) static RSYNC: Menu = Menu {
    properties: &[&[no("enabled", "Enable the synchronisation server")]],
    effect: Effect::None,
    ..Menu::new(
        "/file/rsync-daemon",
        MenuShape::Settings,
        "Server for file synchronisation",
    )
};

pub(crate) static SYNC: Menu = Menu {
    properties: &[
        &[
            Property::new("remote-address", Kind::List(&HOST), "Remote router").required(),
            Property::new(
                "mode",
                Kind::Words(&["upload", "download"]),
                "Synchronisation mode",
            )
            .required(),
            text("local-path", "Local folder"),
            text("remote-path", "Remote folder"),
            text("user", "User name at the remote router"),
            text("password", "Password at the remote router").sensitive(),
            shown("status", Kind::Text, "Status"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('I', "invalid", 1),
        Flag::new('D', "dynamic", 0),
    ],
    columns: &[
        "remote-address",
        "mode",
        "local-path",
        "remote-path",
        "status",
    ],
    commands: &[
        idle_command("monitor", "Show synchronisation progress", MONITORED_ITEMS).repeating(),
    ],
    effect: Effect::None,
    ..Menu::new("/file/sync", MenuShape::List, "Synchronised files")
};
