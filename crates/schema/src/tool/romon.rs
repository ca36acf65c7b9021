//! `/tool/romon`: sessions through routers that see each other on layer 2.

use menu::{Builtin, Effect, Flag, Kind, Menu, Pick, Property, Shape};

use crate::fragment::COMMENT_DISABLED;
use crate::short::{
    AS_VALUE, COUNT, DURATION, FREEZE, INTERVAL, PROPLIST, WITHOUT_PAGING, between, idle, may,
    shown, switch, text,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        switch("enabled", "no", "Whether the router takes part"),
        Property::new("id", Kind::Mac, "Own identifier; chosen by itself if zero")
            .default("00:00:00:00:00:00"),
        text("secrets", "Secrets that messages are proved by").sensitive(),
        shown("current-id", Kind::Mac, "Current identifier"),
    ]],
    commands: &[
        idle(
            "discover",
            "Show the routers that take part",
            &[AS_VALUE, DURATION, FREEZE, PROPLIST, WITHOUT_PAGING],
        ),
        idle(
            "ping",
            "Send echo requests to a router",
            &[
                AS_VALUE,
                may("count", COUNT, "Count"),
                may("id", Kind::Mac, "Identifier"),
                INTERVAL,
                PROPLIST,
                may("size", COUNT, "Size"),
                WITHOUT_PAGING,
            ],
        ),
        idle(
            "ssh",
            "Open an SSH session to a router",
            &[
                may("address", Kind::Mac, "Address"),
                may("command", Kind::Text, "Command"),
                may("output-to-file", Kind::Text, "Output to file"),
                may("user", Kind::Text, "User"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/tool/romon", Shape::Settings, "Management over layer 2")
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
            switch("forbid", "no", "Keeps the interface out"),
            Property::new(
                "cost",
                between(1, 65_535),
                "Cost of the way by this interface",
            )
            .default("100"),
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
    pick: Pick::Default,
    builtin: &[Builtin {
        values: &[("interface", "all")],
    }],
    effect: Effect::None,
    ..Menu::new("/tool/romon/port", Shape::List, "Interfaces that take part")
};
