//! `/ip/neighbor`: discovered neighbours.

pub(crate) mod discovery_settings;
pub(crate) mod lldp;

use menu::{Kind, Menu, MenuShape, Property};

use crate::declare::{IPV4, IPV6, shown};

/// Interface and addresses of a neighbour.
pub(crate) const PLACE: &[Property] = &[
    shown(
        "interface",
        Kind::List(&Kind::Text),
        "The interface on which the neighbour was found",
    ),
    shown("address", Kind::Text, "Address of the neighbour"),
    shown("address4", IPV4, "IPv4 address of the neighbour"),
    shown("address6", IPV6, "IPv6 address of the neighbour"),
    shown(
        "mac-address",
        Kind::Mac,
        "Hardware address of the neighbour",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        PLACE,
        &[
            shown("identity", Kind::Text, "Name of the neighbour"),
            shown("platform", Kind::Text, "Platform of the neighbour"),
            shown("version", Kind::Text, "Version"),
            shown(
                "unpack",
                Kind::Text,
                "Packet unpacking mode of the neighbour",
            ),
            shown(
                "age",
                Kind::SPAN,
                "Time since the last message of the neighbour",
            ),
            shown("uptime", Kind::SPAN, "Uptime of the neighbour"),
            shown("software-id", Kind::Text, "Licence of the neighbour"),
            shown("board", Kind::Text, "Model of the neighbour"),
            shown("ipv6", Kind::Bool, "Whether the neighbour uses IPv6"),
            shown(
                "interface-name",
                Kind::Text,
                "Interface name of the neighbour",
            ),
            shown(
                "system-description",
                Kind::Text,
                "Description sent by the neighbour",
            ),
            shown("system-caps", Kind::Text, "Capabilities of the neighbour"),
            shown(
                "system-caps-enabled",
                Kind::Text,
                "Enabled capabilities of the neighbour",
            ),
            shown(
                "discovered-by",
                Kind::Text,
                "Protocol by which the neighbour was found",
            ),
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
    ..Menu::new("/ip/neighbor", MenuShape::Rows, "Neighbors")
};
