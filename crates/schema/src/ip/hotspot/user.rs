//! `/ip/hotspot/user`: hotspot users.

pub(crate) mod profile;

use menu::{Builtin, Effect, ExportSelector, Flag, Kind, Menu, MenuShape, Property};

use super::SERVER;
use crate::declare::{IPV4, counter, on_items, optional, shown, text, with_default};
use crate::fragment::COMMENT_DISABLED;

const USER: &[Property] = &[
    with_default(
        "server",
        SERVER,
        "all",
        "HotSpot server on which the user may log in",
    ),
    Property::new("name", Kind::Name, "Name of the user"),
    text("password", "Password of the user").sensitive(),
    text("otp-secret", "Secret of the user's one-time passwords").sensitive(),
    text(
        "totp-secret",
        "Secret of the user's time-based one-time passwords",
    )
    .sensitive(),
    optional("address", IPV4, "Address assigned to the user"),
    optional(
        "mac-address",
        Kind::Mac,
        "Required hardware address of the user",
    ),
    with_default(
        "profile",
        Kind::Reference("hotspot-user-profile"),
        "default",
        "The user's profile",
    ),
    text("routes", "Routes to the user's networks"),
    text("email", "E-mail address of the user"),
    with_default(
        "limit-uptime",
        Kind::SPAN,
        "0s",
        "Limit of the user's total session time; 0 for no limit",
    )
    .quiet(),
    with_default(
        "limit-bytes-in",
        Kind::COUNTER,
        "0",
        "Maximum number of bytes from the user; 0 for no limit",
    ),
    with_default(
        "limit-bytes-out",
        Kind::COUNTER,
        "0",
        "Maximum number of bytes to the user; 0 for no limit",
    ),
    with_default(
        "limit-bytes-total",
        Kind::COUNTER,
        "0",
        "Maximum number of bytes in total; 0 for no limit",
    ),
];

const COUNTERS: &[Property] = &[
    shown("uptime", Kind::SPAN, "Total session time of the user"),
    counter("bytes-in", "Bytes from the user"),
    counter("bytes-out", "Bytes to the user"),
    counter("packets-in", "Packets from the user"),
    counter("packets-out", "Packets to the user"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[USER, COUNTERS, COMMENT_DISABLED],
    flags: &[
        Flag::new('*', "default", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &["server", "name", "address", "profile", "uptime"],
    space: Some("hotspot-user"),
    key: Some("name"),
    kind: "user",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[
            ("name", "default-trial"),
            ("comment", "counters and limits for trial users"),
        ],
    }],
    commands: &[on_items("reset-counters", "Reset counters of users")],
    effect: Effect::None,
    ..Menu::new("/ip/hotspot/user", MenuShape::List, "HotSpot users")
};
