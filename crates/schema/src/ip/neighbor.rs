//! `/ip/neighbor`: routers and switches that tell of themselves.

pub(crate) mod discovery_settings;
pub(crate) mod lldp;

use menu::{Effect, Kind, Menu, Property, Shape};

use crate::brief::{IPV4, IPV6, read};

/// Where a neighbour is.
pub(crate) const PLACE: &[Property] = &[
    read(
        "interface",
        Kind::List(&Kind::Text),
        "The interface that heard it",
    ),
    read("address", Kind::Text, "Its address"),
    read("address4", IPV4, "Its IPv4 address"),
    read("address6", IPV6, "Its IPv6 address"),
    read("mac-address", Kind::Mac, "Its hardware address"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        PLACE,
        &[
            read("identity", Kind::Text, "Its name"),
            read("platform", Kind::Text, "Its platform"),
            read("version", Kind::Text, "Its version"),
            read("unpack", Kind::Text, "How it unpacks packets"),
            read("age", Kind::SPAN, "When it was last heard"),
            read("uptime", Kind::SPAN, "How long it runs"),
            read("software-id", Kind::Text, "Its licence"),
            read("board", Kind::Text, "Its model"),
            read("ipv6", Kind::Bool, "Whether it speaks IPv6"),
            read("interface-name", Kind::Text, "Its interface"),
            read("system-description", Kind::Text, "What it says of itself"),
            read("system-caps", Kind::Text, "What it could do"),
            read("system-caps-enabled", Kind::Text, "What it does"),
            read("discovered-by", Kind::Text, "The protocol that told of it"),
        ],
    ],
    columns: &[
        "interface",
        "address",
        "mac-address",
        "identity",
        "version",
        "board",
    ],
    effect: Effect::None,
    ..Menu::new("/ip/neighbor", Shape::Rows, "Neighbors")
};
