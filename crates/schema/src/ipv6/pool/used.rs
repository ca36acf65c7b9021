//! `/ipv6/pool/used`: prefixes in use.

use menu::{Family, Kind, Menu, MenuShape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("pool", Kind::Text, "The pool"),
        shown("prefix", Kind::Prefix(Family::V6), "The prefix"),
        shown("owner", Kind::Text, "Service that assigned the prefix"),
        shown("info", Kind::Text, "Owner of the prefix"),
    ]],
    columns: &["pool", "prefix", "owner", "info"],
    ..Menu::new("/ipv6/pool/used", MenuShape::Rows, "Used prefixes of pools")
};
