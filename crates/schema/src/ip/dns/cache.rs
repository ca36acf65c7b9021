//! `/ip/dns/cache`: cached addresses.

pub(crate) mod all;

use menu::{Flag, Kind, Menu, MenuShape};

use crate::declare::{command, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The name"),
        shown("type", Kind::Text, "Type of the record"),
        shown("data", Kind::Text, "The answer"),
        shown("ttl", Kind::SPAN, "Remaining time to live"),
    ]],
    flags: &[Flag::new('S', "static", 0)],
    columns: &["name", "type", "data", "ttl"],
    commands: &[command("flush", "Clear the cache", &[])],
    ..Menu::new("/ip/dns/cache", MenuShape::Rows, "DNS cache")
};
