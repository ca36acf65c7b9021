//! `/ip/tftp`: TFTP server (RFC 1350).

pub(crate) mod settings;

use menu::{Effect, Family, Kind, Menu, MenuShape};

use crate::declare::{DISABLED, no, text, with_default, yes};
use crate::fragment::{COMMENT_DISABLED, counter};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            with_default(
                "ip-addresses",
                Kind::List(&Kind::Addresses(Family::Any)),
                "",
                "Allowed clients; all if empty",
            ),
            text("req-filename", "Pattern of requested names"),
            text("real-filename", "The file"),
            yes("allow", "Allow or deny the request"),
            yes("read-only", "Refuse write requests"),
            no("allow-rollover", "Allow block numbers to roll over"),
            no("allow-overwrite", "Allow overwriting of existing files"),
            with_default(
                "reading-window-size",
                Kind::Or(&["none", "pipelining"], &crate::declare::between(1, 65_535)),
                "none",
                "Number of blocks sent before an acknowledgement",
            ),
            counter("hits", "Number of matching requests"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &[
        "ip-addresses",
        "req-filename",
        "real-filename",
        "allow",
        "read-only",
    ],
    effect: Effect::None,
    ..Menu::new("/ip/tftp", MenuShape::Ordered, "TFTP server")
};
