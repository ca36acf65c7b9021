//! `/ip/socks/connections`: current connections.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{counter, on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("src-address", Kind::Text, "Source of the connection"),
        shown("dst-address", Kind::Text, "Destination of the connection"),
        shown("user", Kind::Text, "User who logged in"),
        shown("type", Kind::Text, "Direction of the connection"),
        counter("tx", "Bytes sent"),
        counter("rx", "Bytes received"),
    ]],
    columns: &["src-address", "dst-address", "user", "type", "tx", "rx"],
    commands: &[on_items("remove", "Close connections")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/socks/connections",
        MenuShape::Rows,
        "Connections of the SOCKS server",
    )
};
