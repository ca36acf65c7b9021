//! `/tool/calea`: reception of intercepted packets.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{PORT, U32, shown, text};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("case-id", U32, "Number of the case"),
            text("case-name", "Name of the case"),
            Property::new(
                "intercept-ip",
                Kind::Address(Family::V4),
                "Address from which packets are received",
            )
            .optional(),
            Property::new("intercept-port", PORT, "Port on which packets are received")
                .default("0"),
            Property::new(
                "action",
                Kind::Words(&["pcap", "limited"]),
                "Action for the packets",
            )
            .default("pcap"),
            text("file-root", "Prefix of the file names"),
            Property::new(
                "pcap-file-stop-interval",
                Kind::SPAN,
                "Time after which the next file begins",
            )
            .default("15m"),
            Property::new(
                "pcap-file-stop-size",
                U32,
                "Size in KiB after which the next file begins",
            )
            .default("1024"),
            Property::new("pcap-file-stop-count", U32, "Number of files kept").default("0"),
            Property::new(
                "pcap-file-hash-method",
                Kind::Words(&["none", "md5", "sha1", "sha256"]),
                "Hash algorithm for the files",
            )
            .default("sha256"),
            Property::new(
                "limited-file-stop-interval",
                Kind::SPAN,
                "Time after which the next file begins",
            )
            .default("15m"),
            Property::new(
                "limited-file-hash-method",
                Kind::Words(&["none", "md5", "sha1", "sha256"]),
                "Hash algorithm for the files",
            )
            .default("sha256"),
            shown("access-session-id", U32, "Access session identifier"),
            shown("packets", U32, "Packets"),
            shown("bytes", U32, "Bytes"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &[
        "case-id",
        "case-name",
        "intercept-ip",
        "intercept-port",
        "action",
    ],
    effect: Effect::None,
    ..Menu::new(
        "/tool/calea",
        MenuShape::List,
        "Streams of intercepted packets",
    )
};
