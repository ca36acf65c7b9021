//! `/ip/dhcp-server/alert`: detection of rogue DHCP servers.

use menu::{Kind, Menu, Shape};

use crate::declare::{DISABLED_INVALID, on_items, shown, text, with_default};
use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The interface that is watched"),
            with_default(
                "valid-server",
                Kind::List(&Kind::Mac),
                "",
                "Servers that may be there",
            ),
            with_default(
                "alert-timeout",
                Kind::Or(&["none"], &Kind::SPAN),
                "1h",
                "How long a server that was found is not reported again",
            ),
            text("on-alert", "Runs when a server is found").script(),
            shown(
                "unknown-server",
                Kind::List(&Kind::Mac),
                "Servers that were found",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "valid-server", "unknown-server"],
    commands: &[on_items(
        "reset-alert",
        "Forget the servers that were found",
    )],
    ..Menu::new(
        "/ip/dhcp-server/alert",
        Shape::List,
        "Alerts of foreign servers",
    )
};
