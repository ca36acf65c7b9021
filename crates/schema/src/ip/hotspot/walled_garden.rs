//! `/ip/hotspot/walled-garden`: web pages accessible without login.

pub(crate) mod ip;

use menu::{Command, Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{PORTS, command, on_items, optional, shown, with_default};
use crate::fragment::{COMMENT_DISABLED, counter};

/// Commands for counters.
pub(crate) const COMMANDS: &[Command] = &[
    on_items("reset-counters", "Reset statistics for rules"),
    command("reset-counters-all", "Reset statistics for all rules", &[]),
];
/// HTTP methods.
pub(crate) const METHODS: Kind = Kind::Not(&Kind::Words(&[
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE",
]));
/// A URL pattern.
pub(crate) const PATTERN: Kind = Kind::Not(&Kind::Name);
/// Web server ports.
pub(crate) const WEB_PORTS: Kind = Kind::Not(&Kind::List(&PORTS));
/// A hotspot server, optionally negated.
pub(crate) const OF_SERVER: Kind = Kind::Not(&Kind::Reference("hotspot"));

const RULE: &[Property] = &[
    optional("server", OF_SERVER, "The server"),
    optional(
        "src-address",
        Kind::Not(&Kind::Addresses(Family::V4)),
        "Address of the guest",
    ),
    optional("method", METHODS, "Method of the request"),
    optional("dst-host", PATTERN, "Name of the requested host"),
    optional("dst-port", WEB_PORTS, "Port of the requested host"),
    optional("path", PATTERN, "Name of the page"),
    with_default(
        "action",
        Kind::Words(&["allow", "deny"]),
        "allow",
        "Allow or deny the page",
    ),
    shown("dst-address", Kind::Text, "Addresses of the host"),
    counter("hits", "Requests that matched"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[RULE, COMMENT_DISABLED],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('D', "dynamic", 0)],
    stats: &["dst-host", "path", "action", "hits"],
    commands: COMMANDS,
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/walled-garden",
        MenuShape::Ordered,
        "Web pages accessible without login",
    )
};
