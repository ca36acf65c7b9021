//! `/ip/reverse-proxy`: TLS termination for servers behind the router.

use menu::{Effect, Family, Kind, Menu, MenuShape};

use crate::declare::{DISABLED_DYNAMIC, PORT, property, text, with_default};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            with_default(
                "certificate",
                Kind::Or(&["none"], &Kind::Name),
                "none",
                "The certificate",
            ),
            property("ip-address", Kind::Address(Family::Any), "The server").required(),
            with_default("port", PORT, "80", "The server's port"),
            text("sni", "Server name (SNI) requested by clients"),
            with_default(
                "vrf",
                Kind::Reference("routing-table"),
                "main",
                "The VRF of the server",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["sni", "ip-address", "port", "certificate"],
    effect: Effect::None,
    ..Menu::new("/ip/reverse-proxy", MenuShape::List, "TLS reverse proxy")
};
