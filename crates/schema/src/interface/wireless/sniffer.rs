//! `/interface/wireless/sniffer`: capture of wireless frames.

pub(crate) mod packet;

use menu::{Kind, Menu};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PROPLIST, WITHOUT_PAGING,
    argument, ipv4, no, number, span, text,
};
use crate::fragment::idle_settings;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("multiple-channels", "Scan all channels"),
        span("channel-time", "Time per channel").default("200ms"),
        no("only-headers", "Capture headers only"),
        no("receive-errors", "Include damaged frames"),
        number("memory-limit", 10, 4_294_967_295, "Memory limit in KiB").default("10"),
        text("file-name", "File for frames"),
        number(
            "file-limit",
            10,
            4_294_967_295,
            "Size limit of the file in KiB",
        )
        .default("10"),
        no("streaming-enabled", "Stream frames to a server"),
        number(
            "streaming-max-rate",
            0,
            4_294_967_295,
            "Streaming rate in packets per second",
        )
        .default("0"),
        ipv4("streaming-server", "Address of the streaming server").default("0.0.0.0"),
    ]],
    commands: &[
        idle_command("save", "Save frames"),
        crate::declare::idle_command(
            "sniff",
            "Record frames",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("interface", Kind::Text, "The radio"),
                INTERVAL,
                ONCE,
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
    ],
    ..idle_settings("/interface/wireless/sniffer", "Wireless sniffer settings")
};
