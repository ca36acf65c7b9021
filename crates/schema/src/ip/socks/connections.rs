//! `/ip/socks/connections`: connections of the server.

use menu::{Effect, Kind, Menu, Shape};

use crate::brief::{count, on_items, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("src-address", Kind::Text, "Who connected"),
        read("dst-address", Kind::Text, "Who was connected to"),
        read("user", Kind::Text, "Who logged in"),
        read("type", Kind::Text, "The direction"),
        count("tx", "Bytes sent"),
        count("rx", "Bytes received"),
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
