//! `/ip/neighbor`: discovered neighbours.

pub(crate) mod discovery_settings;
pub(crate) mod lldp;

use menu::{Kind, Menu, Property, Shape};

use crate::declare::{IPV4, IPV6, shown};

/// Interface and addresses of a neighbour.
pub(crate) const PLACE: &[Property] = &[
    shown(
        "interface",
        Kind::List(&Kind::Text),
        "The interface that heard it",
    ),
    shown("address", Kind::Text, "Its address"),
    shown("address4", IPV4, "Its IPv4 address"),
    shown("address6", IPV6, "Its IPv6 address"),
    shown("mac-address", Kind::Mac, "Its hardware address"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        PLACE,
        &[
            shown("identity", Kind::Text, "Its name"),
            shown("platform", Kind::Text, "Its platform"),
            shown("version", Kind::Text, "Its version"),
            shown("unpack", Kind::Text, "How it unpacks packets"),
            shown("age", Kind::SPAN, "When it was last heard"),
            shown("uptime", Kind::SPAN, "How long it runs"),
            shown("software-id", Kind::Text, "Its licence"),
            shown("board", Kind::Text, "Its model"),
            shown("ipv6", Kind::Bool, "Whether it speaks IPv6"),
            shown("interface-name", Kind::Text, "Its interface"),
            shown("system-description", Kind::Text, "What it says of itself"),
            shown("system-caps", Kind::Text, "What it could do"),
            shown("system-caps-enabled", Kind::Text, "What it does"),
            shown("discovered-by", Kind::Text, "The protocol that told of it"),
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
    ..Menu::new("/ip/neighbor", Shape::Rows, "Neighbors")
};
