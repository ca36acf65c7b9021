//! `/ip/reverse-proxy`: TLS for servers behind the router.

use menu::{Effect, Family, Kind, Menu, Shape};

use crate::brief::{DISABLED_DYNAMIC, PORT, some, text, with};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            with(
                "certificate",
                Kind::Or(&["none"], &Kind::Name),
                "none",
                "The certificate",
            ),
            some("ip-address", Kind::Address(Family::Any), "The server").required(),
            with("port", PORT, "80", "The server's port"),
            text("sni", "The name that clients ask for"),
            with(
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
    ..Menu::new(
        "/ip/reverse-proxy",
        Shape::List,
        "TLS for servers behind the router",
    )
};
