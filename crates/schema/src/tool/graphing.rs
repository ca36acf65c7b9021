//! `/tool/graphing`: traffic and resource graphs.

use menu::{Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{between, yes};
use crate::fragment::COMMENT_DISABLED;

const ALLOWED: Kind = Kind::Prefix(Family::Any);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "store-every",
            Kind::Words(&["5min", "hour", "24hours"]),
            "Interval at which measurements are stored",
        )
        .default("5min"),
        Property::new(
            "page-refresh",
            Kind::Or(&["never"], &between(1, 86_400)),
            "Reload interval of the page in seconds",
        )
        .default("300"),
    ]],
    ..Menu::new("/tool/graphing", MenuShape::Settings, "Graphs")
};

pub(crate) static INTERFACES: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "interface",
                Kind::Or(&["all"], &Kind::Reference("interface")),
                "The interface",
            )
            .default("all"),
            Property::new(
                "allow-address",
                ALLOWED,
                "Networks with access to the graphs",
            )
            .default("0.0.0.0/0"),
            yes("store-on-disk", "Keep measurements across restarts"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["interface", "allow-address", "store-on-disk"],
    ..Menu::new(
        "/tool/graphing/interface",
        MenuShape::List,
        "Interfaces with graphs",
    )
};

pub(crate) static QUEUES: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "simple-queue",
                Kind::Or(&["all"], &Kind::Name),
                "The simple queue",
            )
            .default("all"),
            Property::new(
                "allow-address",
                ALLOWED,
                "Networks with access to the graphs",
            )
            .default("0.0.0.0/0"),
            yes("store-on-disk", "Keep measurements across restarts"),
            yes("allow-target", "Allow access from the queue's target"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &[
        "simple-queue",
        "allow-address",
        "store-on-disk",
        "allow-target",
    ],
    ..Menu::new(
        "/tool/graphing/queue",
        MenuShape::List,
        "Queues with graphs",
    )
};

pub(crate) static RESOURCES: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "allow-address",
                ALLOWED,
                "Networks with access to the graphs",
            )
            .default("0.0.0.0/0"),
            yes("store-on-disk", "Keep measurements across restarts"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["allow-address", "store-on-disk"],
    ..Menu::new(
        "/tool/graphing/resource",
        MenuShape::List,
        "Graphs of processor, memory and disk",
    )
};
