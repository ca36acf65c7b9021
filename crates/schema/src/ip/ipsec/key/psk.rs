//! `/ip/ipsec/key/psk`: post-quantum pre-shared keys (RFC 8784).

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{argument, between, command, property};
use crate::ip::ipsec::PEER;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        property("peer", PEER, "The peer").required(),
        property("id", Kind::Sized { min: 16, max: 255 }, "Name of the key").required(),
        property("key", Kind::Digits, "The key")
            .required()
            .sensitive(),
    ]],
    columns: &["peer", "id"],
    commands: &[command(
        "generate",
        "Generate keys",
        &[
            argument("peer", PEER, "The peer"),
            argument("count", between(1, 1_000_000), "Number of keys"),
            argument("size", between(64, 65_535), "Length of a key"),
        ],
    )],
    effect: Effect::None,
    ..Menu::new("/ip/ipsec/key/psk", MenuShape::List, "Pre-shared keys")
};
