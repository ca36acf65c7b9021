//! `/ip/neighbor/lldp`: LLDP neighbours (IEEE 802.1AB).

use menu::{Kind, Menu, MenuShape};

use super::PLACE;
use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        PLACE,
        &[
            shown(
                "lldp-chassis-id-subtype",
                Kind::Text,
                "Type of the chassis identifier",
            ),
            shown("lldp-chassis-id", Kind::Text, "Name of the chassis"),
            shown(
                "lldp-port-id-subtype",
                Kind::Text,
                "Type of the port identifier",
            ),
            shown("lldp-port-id", Kind::Text, "Name of the port"),
            shown(
                "lldp-port-description",
                Kind::Text,
                "Description of the port",
            ),
            shown("lldp-system-name", Kind::Text, "Name of the neighbour"),
            shown(
                "lldp-system-description",
                Kind::Text,
                "Description sent by the neighbour",
            ),
            shown("lldp-ttl", Kind::SPAN, "Time to live of the entry"),
            shown(
                "lldp-system-caps",
                Kind::Text,
                "Capabilities of the neighbour",
            ),
            shown(
                "lldp-system-caps-enabled",
                Kind::Text,
                "Enabled capabilities of the neighbour",
            ),
        ],
    ],
    columns: &[
        "interface",
        "address",
        "mac-address",
        "lldp-system-name",
        "lldp-port-id",
    ],
    ..Menu::new("/ip/neighbor/lldp", MenuShape::Rows, "Neighbors by LLDP")
};
