//! `/ip/hotspot/active`: logged-in users.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{IPV4, argument, command, counter, on_items, shown};

const GUEST: &[Property] = &[
    shown("server", Kind::Text, "The server"),
    shown("user", Kind::Text, "The user"),
    shown("domain", Kind::Text, "The user's domain"),
    shown("address", IPV4, "The guest's address"),
    shown("mac-address", Kind::Mac, "The guest's hardware address"),
    shown("login-by", Kind::Text, "Login method"),
    shown("uptime", Kind::SPAN, "Session time of the guest"),
    shown("session-time-left", Kind::SPAN, "Remaining session time"),
    shown("idle-time", Kind::SPAN, "Idle time of the guest"),
    shown("idle-timeout", Kind::SPAN, "Idle timeout"),
    shown("keepalive-timeout", Kind::SPAN, "Keepalive timeout"),
    counter("bytes-in", "Bytes from the guest"),
    counter("bytes-out", "Bytes to the guest"),
    counter("packets-in", "Packets from the guest"),
    counter("packets-out", "Packets to the guest"),
    counter("limit-bytes-in", "Maximum number of bytes from the guest"),
    counter("limit-bytes-out", "Maximum number of bytes to the guest"),
    counter("limit-bytes-total", "Maximum number of bytes in total"),
    shown("advertisement", Kind::Text, "State of advertisements"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[GUEST],
    flags: &[Flag::new('R', "radius", 0), Flag::new('B', "blocked", 1)],
    columns: &[
        "user",
        "address",
        "uptime",
        "idle-time",
        "session-time-left",
        "server",
    ],
    commands: &[
        command(
            "login",
            "Log a guest in",
            &[
                argument("user", Kind::Text, "The user"),
                argument("password", Kind::Text, "The password"),
                argument("ip", IPV4, "The guest's address"),
                argument("mac-address", Kind::Mac, "The guest's hardware address"),
                argument("domain", Kind::Text, "The user's domain"),
            ],
        ),
        on_items("remove", "Log guests out"),
    ],
    effect: Effect::None,
    ..Menu::new("/ip/hotspot/active", MenuShape::Rows, "Logged-in guests")
};
