//! `/ip/tftp`: TFTP server (RFC 1350).

pub(crate) mod settings;

use menu::{Effect, Family, Kind, Menu, Shape};

use crate::declare::{DISABLED, no, text, with_default, yes};
use crate::fragment::{COMMENT_DISABLED, counter};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            with_default(
                "ip-addresses",
                Kind::List(&Kind::Addresses(Family::Any)),
                "",
                "Who may ask; all if empty",
            ),
            text("req-filename", "Pattern of names that are asked for"),
            text("real-filename", "The file"),
            yes("allow", "Whether the file is given"),
            yes("read-only", "Whether the file can be written"),
            no("allow-rollover", "Whether numbers of blocks may start over"),
            no(
                "allow-overwrite",
                "Whether a file that is there can be written",
            ),
            with_default(
                "reading-window-size",
                Kind::Or(&["none", "pipelining"], &crate::declare::between(1, 65_535)),
                "none",
                "Blocks that are sent before an answer",
            ),
            counter("hits", "Requests that matched"),
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
    ..Menu::new("/ip/tftp", Shape::Ordered, "TFTP server")
};
