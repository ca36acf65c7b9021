//! `/ipv6/pool/used`: who has which prefix of a pool.

use menu::{Effect, Family, Kind, Menu, Shape};

use crate::brief::read;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("pool", Kind::Text, "The pool"),
        read("prefix", Kind::Prefix(Family::V6), "The prefix"),
        read("owner", Kind::Text, "The service that gave it out"),
        read("info", Kind::Text, "Who has it"),
    ]],
    columns: &["pool", "prefix", "owner", "info"],
    effect: Effect::None,
    ..Menu::new("/ipv6/pool/used", Shape::Rows, "Used prefixes of pools")
};
