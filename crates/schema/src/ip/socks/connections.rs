//! `/ip/socks/connections`: current connections.

use menu::{Effect, Kind, Menu, Shape};

use crate::declare::{counter, on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("src-address", Kind::Text, "Who connected"),
        shown("dst-address", Kind::Text, "Who was connected to"),
        shown("user", Kind::Text, "Who logged in"),
        shown("type", Kind::Text, "The direction"),
        counter("tx", "Bytes sent"),
        counter("rx", "Bytes received"),
    ]],
    columns: &["src-address", "dst-address", "user", "type", "tx", "rx"],
    commands: &[on_items("remove", "Close connections")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/socks/connections",
        Shape::Rows,
        "Connections of the SOCKS server",
    )
};
