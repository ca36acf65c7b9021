//! `/ip/socks`: SOCKS server (RFC 1928).

pub(crate) mod access;
pub(crate) mod connections;
pub(crate) mod users;

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{PORT, U32, no, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether the SOCKS server is enabled"),
        with_default("port", PORT, "1080", "The server's port"),
        with_default(
            "connection-idle-timeout",
            Kind::SPAN,
            "2m",
            "Idle timeout of connections",
        ),
        with_default(
            "max-connections",
            U32,
            "200",
            "Maximum number of connections",
        ),
        with_default(
            "vrf",
            Kind::Reference("routing-table"),
            "main",
            "The VRF of the server",
        ),
        with_default(
            "version",
            Kind::Words(&["4", "5"]),
            "4",
            "Version of the protocol",
        ),
        with_default(
            "auth-method",
            Kind::Words(&["none", "password"]),
            "none",
            "Authentication method",
        ),
    ]],
    effect: Effect::None,
    off: Some(("enabled", "no")),
    ..Menu::new("/ip/socks", MenuShape::Settings, "SOCKS server")
};
