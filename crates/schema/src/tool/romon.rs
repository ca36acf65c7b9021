//! `/tool/romon`: sessions through neighbours on layer 2 (RoMON).

use menu::{Builtin, Effect, ExportSelector, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    AS_VALUE, DURATION, FREEZE, INTERVAL, PROPLIST, U32, WITHOUT_PAGING, argument, between,
    idle_command, no, shown, text,
};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable RoMON"),
        Property::new(
            "id",
            Kind::Mac,
            "RoMON ID of this router; zero: chosen automatically",
        )
        .default("00:00:00:00:00:00"),
        text("secrets", "Secrets for authentication of messages").sensitive(),
        shown("current-id", Kind::Mac, "Current identifier"),
    ]],
    commands: &[
        idle_command(
            "discover",
            "Discover RoMON routers",
            &[AS_VALUE, DURATION, FREEZE, PROPLIST, WITHOUT_PAGING],
        ),
        idle_command(
            "ping",
            "Send echo requests to a router",
            &[
                AS_VALUE,
                argument("count", U32, "Count"),
                argument("id", Kind::Mac, "Identifier"),
                INTERVAL,
                PROPLIST,
                argument("size", U32, "Size"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "ssh",
            "Open an SSH session to a router",
            &[
                argument("address", Kind::Mac, "Address"),
                argument("command", Kind::Text, "Command"),
                argument("output-to-file", Kind::Text, "Output to file"),
                argument("user", Kind::Text, "User"),
            ],
        ),
    ],
    effect: Effect::None,
    off: Some(("enabled", "no")),
    ..Menu::new(
        "/tool/romon",
        MenuShape::Settings,
        "Router management overlay network (RoMON)",
    )
};

pub(crate) static PORTS: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "interface",
                Kind::Or(&["all"], &Kind::Reference("interface")),
                "The interface",
            )
            .default("all"),
            no("forbid", "Exclude the interface"),
            Property::new("cost", between(1, 65_535), "Cost of this interface").default("100"),
            text("secrets", "Secrets of this interface").sensitive(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('*', "default", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
    ],
    columns: &["interface", "forbid", "cost"],
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("interface", "all")],
    }],
    effect: Effect::None,
    ..Menu::new("/tool/romon/port", MenuShape::List, "Interfaces in use")
};
