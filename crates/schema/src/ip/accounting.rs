//! `/ip/accounting`: traffic accounting by address pair, as in older versions.

pub(crate) mod web_access;

use menu::{Effect, Menu, MenuShape};

use crate::declare::{between, no, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable traffic accounting"),
        no("account-local-traffic", "Count the router's own traffic"),
        with_default(
            "threshold",
            between(1, 8_192),
            "256",
            "Maximum number of address pairs",
        ),
    ]],
    effect: Effect::None,
    off: Some(("enabled", "no")),
    older: true,
    ..Menu::new(
        "/ip/accounting",
        MenuShape::Settings,
        "Traffic accounting of older versions",
    )
};
