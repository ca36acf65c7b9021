//! `/ip/socks`: connections that are made for others (RFC 1928).

pub(crate) mod access;
pub(crate) mod connections;
pub(crate) mod users;

use menu::{Effect, Kind, Menu, Shape};

use crate::brief::{PORT, U32, no, with};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether connections are made for others"),
        with("port", PORT, "1080", "The server's port"),
        with(
            "connection-idle-timeout",
            Kind::SPAN,
            "2m",
            "How long a connection may be silent",
        ),
        with("max-connections", U32, "200", "Most connections"),
        with(
            "vrf",
            Kind::Reference("routing-table"),
            "main",
            "The VRF of the server",
        ),
        with(
            "version",
            Kind::Words(&["4", "5"]),
            "4",
            "Version of the protocol",
        ),
        with(
            "auth-method",
            Kind::Words(&["none", "password"]),
            "none",
            "Whether users log in",
        ),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/socks", Shape::Settings, "SOCKS server")
};
