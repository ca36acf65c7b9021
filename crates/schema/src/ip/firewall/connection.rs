//! `/ip/firewall/connection`: tracked connections.

pub(crate) mod tracking;

use menu::{Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{counter, on_items, shown};

const ENDS: &[Property] = &[
    shown("protocol", Kind::Text, "Protocol above IP").bare(),
    shown("src-address", Kind::Text, "Source of the first packet").bare(),
    shown("src-port", Kind::COUNTER, "Source port of the first packet"),
    shown("dst-address", Kind::Text, "Destination of the first packet").bare(),
    shown(
        "dst-port",
        Kind::COUNTER,
        "Destination port of the first packet",
    ),
    shown("reply-src-address", Kind::Text, "Source address of replies").bare(),
    shown("reply-src-port", Kind::COUNTER, "Source port of replies"),
    shown(
        "reply-dst-address",
        Kind::Text,
        "Destination address of replies",
    )
    .bare(),
    shown(
        "reply-dst-port",
        Kind::COUNTER,
        "Destination port of replies",
    ),
    shown("tcp-state", Kind::Text, "State of the TCP connection").bare(),
    counter("icmp-type", "ICMP type"),
    counter("icmp-code", "ICMP code"),
    counter("icmp-id", "ICMP identifier"),
    counter("gre-protocol", "Protocol within GRE"),
    counter("gre-version", "Version of GRE"),
    counter("gre-key", "Key of GRE"),
    shown(
        "connection-type",
        Kind::Text,
        "Connection tracking helper of the connection",
    ),
    shown("timeout", Kind::SPAN, "Time until the connection expires"),
    shown("connection-mark", Kind::Text, "Mark of the connection"),
    shown(
        "slow-path-reason",
        Kind::Text,
        "Reason why the connection is not FastTracked",
    ),
];

const COUNTERS: &[Property] = &[
    counter("orig-packets", "Packets from the source"),
    counter("orig-bytes", "Bytes from the source"),
    counter(
        "orig-fasttrack-packets",
        "Packets from the source by FastTrack",
    ),
    counter("orig-fasttrack-bytes", "Bytes from the source by FastTrack"),
    counter("repl-packets", "Packets of replies"),
    counter("repl-bytes", "Bytes of replies"),
    counter("repl-fasttrack-packets", "Packets of replies by FastTrack"),
    counter("repl-fasttrack-bytes", "Bytes of replies by FastTrack"),
    counter("orig-rate", "Rate from the source in bits per second"),
    counter("repl-rate", "Rate of replies in bits per second"),
];

/// Flags of connections.
const FLAGS: &[Flag] = &[
    Flag::new('E', "expected", 0),
    Flag::new('S', "seen-reply", 1),
    Flag::new('A', "assured", 2),
    Flag::new('C', "confirmed", 3),
    Flag::new('D', "dying", 4),
    Flag::new('F', "fasttrack", 5),
    Flag::new('H', "hw-offload", 6),
    Flag::new('s', "srcnat", 7),
    Flag::new('d', "dstnat", 8),
    Flag::new('h', "uses-helper", 9),
];

const COLUMNS: &[&str] = &[
    "protocol",
    "src-address",
    "src-port",
    "dst-address",
    "dst-port",
    "tcp-state",
    "timeout",
    "orig-rate",
    "repl-rate",
    "orig-packets",
    "repl-packets",
    "orig-bytes",
    "repl-bytes",
];

/// Columns for `print stats`, which RouterOS does not have here: the counters of its `print detail`.
const STATS: &[&str] = &[
    "protocol",
    "src-address",
    "src-port",
    "dst-address",
    "dst-port",
    "orig-packets",
    "orig-bytes",
    "orig-fasttrack-packets",
    "orig-fasttrack-bytes",
    "orig-rate",
    "repl-packets",
    "repl-bytes",
    "repl-fasttrack-packets",
    "repl-fasttrack-bytes",
    "repl-rate",
];

/// The connection table of one IP version.
pub(crate) const fn connections(path: &'static str, help: &'static str) -> Menu {
    Menu {
        properties: &[ENDS, COUNTERS],
        flags: FLAGS,
        columns: COLUMNS,
        stats: STATS,
        commands: &[const { on_items("remove", "Remove item") }],
        ..Menu::new(path, MenuShape::Rows, help)
    }
}

pub(crate) static MENU: Menu = connections("/ip/firewall/connection", "Active connections");
