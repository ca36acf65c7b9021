//! `/ip/dns/cache/all`: cached records of all types.

use menu::{Flag, Kind, Menu, MenuShape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The name"),
        shown("type", Kind::Text, "Type of the record"),
        shown("data", Kind::Text, "The answer"),
        shown("ttl", Kind::SPAN, "Remaining time to live"),
    ]],
    flags: &[Flag::new('S', "static", 0), Flag::new('N', "negative", 1)],
    columns: &["name", "type", "data", "ttl"],
    ..Menu::new(
        "/ip/dns/cache/all",
        MenuShape::Rows,
        "DNS cache of all types",
    )
};
