//! `/tool/calea`: streams of intercepted packets that are received.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

use crate::fragment::COMMENT_DISABLED;
use crate::short::{COUNT, PORT, shown, text};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("case-id", COUNT, "Number of the case"),
            text("case-name", "Name of the case"),
            Property::new(
                "intercept-ip",
                Kind::Address(Family::V4),
                "Who sends the packets",
            )
            .optional(),
            Property::new("intercept-port", PORT, "Port that the packets come to").default("0"),
            Property::new(
                "action",
                Kind::Words(&["pcap", "limited"]),
                "What is written",
            )
            .default("pcap"),
            text("file-root", "Beginning of the files' names"),
            Property::new(
                "pcap-file-stop-interval",
                Kind::SPAN,
                "Time after which the next file begins",
            )
            .default("15m"),
            Property::new(
                "pcap-file-stop-size",
                COUNT,
                "Size in KiB after which the next file begins",
            )
            .default("1024"),
            Property::new("pcap-file-stop-count", COUNT, "How many files are kept").default("0"),
            Property::new(
                "pcap-file-hash-method",
                Kind::Words(&["none", "md5", "sha1", "sha256"]),
                "Hash of the files",
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
                "Hash of the files",
            )
            .default("sha256"),
            shown("access-session-id", COUNT, "Access session identifier"),
            shown("packets", COUNT, "Packets"),
            shown("bytes", COUNT, "Bytes"),
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
    ..Menu::new("/tool/calea", Shape::List, "Streams of intercepted packets")
};
