//! `/ip/proxy/connections`: current connections.

use menu::{Effect, Flag, Kind, Menu, MenuShape};

use crate::declare::{counter, on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("src-address", Kind::Text, "Source of the connection"),
        shown("dst-address", Kind::Text, "Destination of the connection"),
        shown(
            "last-protocol",
            Kind::Text,
            "The protocol of the last request",
        ),
        shown("state", Kind::Text, "State of the connection"),
        counter("tx-bytes", "Bytes sent"),
        counter("rx-bytes", "Bytes received"),
    ]],
    flags: &[Flag::new('S', "server", 0), Flag::new('C', "client", 0)],
    columns: &[
        "src-address",
        "dst-address",
        "last-protocol",
        "state",
        "tx-bytes",
        "rx-bytes",
    ],
    commands: &[on_items("remove", "Close connections")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/connections",
        MenuShape::Rows,
        "Connections of the proxy",
    )
};
