//! `/ip/pool/used`: who has which address of a pool.

use menu::{Effect, Kind, Menu, Shape};

use crate::brief::{IPV4, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("pool", Kind::Text, "The pool"),
        read("address", IPV4, "The address"),
        read("owner", Kind::Text, "The service that gave it out"),
        read("info", Kind::Text, "Who has it"),
    ]],
    columns: &["pool", "address", "owner", "info"],
    effect: Effect::None,
    ..Menu::new("/ip/pool/used", Shape::Rows, "Used addresses of pools")
};
