//! `/ip/dhcp-server/alert`: detection of rogue DHCP servers.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{DISABLED_INVALID, on_items, shown, text, with_default};
use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The interface to watch"),
            with_default(
                "valid-server",
                Kind::List(&Kind::Mac),
                "",
                "Hardware addresses of valid servers",
            ),
            with_default(
                "alert-timeout",
                Kind::Or(&["none"], &Kind::SPAN),
                "1h",
                "Time before a known rogue server is reported again",
            ),
            text("on-alert", "Script to run when a rogue server is found").script(),
            shown(
                "unknown-server",
                Kind::List(&Kind::Mac),
                "Rogue servers found",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "valid-server", "unknown-server"],
    commands: &[on_items("reset-alert", "Clear the list of rogue servers")],
    ..Menu::new(
        "/ip/dhcp-server/alert",
        MenuShape::List,
        "Alerts about rogue DHCP servers",
    )
};
