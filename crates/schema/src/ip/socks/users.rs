//! `/ip/socks/users`: SOCKS users.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{DISABLED, ONLY_DISABLED, no, property, text};

const WORD: Kind = Kind::Sized { min: 1, max: 255 };

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            property("name", WORD, "Name of the user").required(),
            property("password", WORD, "Password of the user")
                .required()
                .sensitive(),
            no("only-one", "Allow one session at a time"),
            text("rate-limit", "Rate limit of the user"),
        ],
        ONLY_DISABLED,
    ],
    flags: DISABLED,
    columns: &["name", "only-one", "rate-limit"],
    space: Some("socks-user"),
    key: Some("name"),
    effect: Effect::None,
    ..Menu::new(
        "/ip/socks/users",
        MenuShape::List,
        "Users of the SOCKS server",
    )
};
