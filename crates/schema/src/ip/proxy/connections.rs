//! `/ip/proxy/connections`: connections of the proxy.

use menu::{Effect, Flag, Kind, Menu, Shape};

use crate::brief::{count, on_items, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("src-address", Kind::Text, "Who connected"),
        read("dst-address", Kind::Text, "Who was connected to"),
        read(
            "last-protocol",
            Kind::Text,
            "The protocol of the last request",
        ),
        read("state", Kind::Text, "What the connection does"),
        count("tx-bytes", "Bytes sent"),
        count("rx-bytes", "Bytes received"),
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
        Shape::Rows,
        "Connections of the proxy",
    )
};
