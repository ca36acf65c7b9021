//! `/ip/socksify`: redirection of client connections to a SOCKS server.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED_DYNAMIC, IPV4, PORT, between, text, with_default};
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the service"),
        with_default(
            "connection-timeout",
            between(0, 65_535),
            "60",
            "Connection timeout in seconds",
        ),
        with_default(
            "port",
            PORT,
            "952",
            "Port on which redirected connections are received",
        ),
        with_default("socks5-server", IPV4, "0.0.0.0", "The SOCKS server"),
        with_default("socks5-port", PORT, "1080", "The SOCKS server's port"),
        text("socks5-user", "User name for the SOCKS server"),
        text("socks5-password", "Password for the SOCKS server").sensitive(),
        COMMENT,
        with_default(
            "disabled",
            Kind::Bool,
            "yes",
            "Defines whether item is ignored or used",
        ),
    ]],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "port", "socks5-server", "socks5-port"],
    space: Some("socksify"),
    key: Some("name"),
    kind: "socksify",
    effect: Effect::None,
    ..Menu::new(
        "/ip/socksify",
        MenuShape::List,
        "Redirection of connections to a SOCKS server",
    )
};
