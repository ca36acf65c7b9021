//! `/ip/pool/used`: addresses in use.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{IPV4, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("pool", Kind::Text, "The pool"),
        shown("address", IPV4, "The address"),
        shown("owner", Kind::Text, "Service that assigned the address"),
        shown("info", Kind::Text, "Owner of the address"),
    ]],
    columns: &["pool", "address", "owner", "info"],
    ..Menu::new("/ip/pool/used", MenuShape::Rows, "Used addresses of pools")
};
