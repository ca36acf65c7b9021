//! `/ip/hotspot/active`: guests who are logged in.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::brief::{IPV4, argument, command, count, on_items, read};

const GUEST: &[Property] = &[
    read("server", Kind::Text, "The server"),
    read("user", Kind::Text, "The user"),
    read("domain", Kind::Text, "The user's domain"),
    read("address", IPV4, "The guest's address"),
    read("mac-address", Kind::Mac, "The guest's hardware address"),
    read("login-by", Kind::Text, "How the guest logged in"),
    read("uptime", Kind::SPAN, "How long the guest is there"),
    read(
        "session-time-left",
        Kind::SPAN,
        "How long the guest may stay",
    ),
    read("idle-time", Kind::SPAN, "How long the guest is silent"),
    read(
        "idle-timeout",
        Kind::SPAN,
        "How long the guest may be silent",
    ),
    read(
        "keepalive-timeout",
        Kind::SPAN,
        "How long the guest may be out of reach",
    ),
    count("bytes-in", "Bytes from the guest"),
    count("bytes-out", "Bytes to the guest"),
    count("packets-in", "Packets from the guest"),
    count("packets-out", "Packets to the guest"),
    count("limit-bytes-in", "Most bytes from the guest"),
    count("limit-bytes-out", "Most bytes to the guest"),
    count("limit-bytes-total", "Most bytes in all"),
    read("advertisement", Kind::Text, "State of advertisements"),
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
    ..Menu::new(
        "/ip/hotspot/active",
        Shape::Rows,
        "Guests who are logged in",
    )
};
