//! `/ip/dns/cache`: answers that are kept.

pub(crate) mod all;

use menu::{Effect, Flag, Kind, Menu, Shape};

use crate::brief::{command, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("name", Kind::Text, "The name"),
        read("type", Kind::Text, "Type of the record"),
        read("data", Kind::Text, "The answer"),
        read("ttl", Kind::SPAN, "How long it is kept"),
    ]],
    flags: &[Flag::new('S', "static", 0)],
    columns: &["name", "type", "data", "ttl"],
    commands: &[command("flush", "Clear the cache", &[])],
    effect: Effect::None,
    ..Menu::new("/ip/dns/cache", Shape::Rows, "DNS cache")
};
