//! `/ip/neighbor/lldp`: LLDP neighbours (IEEE 802.1AB).

use menu::{Kind, Menu, Shape};

use super::PLACE;
use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        PLACE,
        &[
            shown(
                "lldp-chassis-id-subtype",
                Kind::Text,
                "What names the chassis",
            ),
            shown("lldp-chassis-id", Kind::Text, "Name of the chassis"),
            shown("lldp-port-id-subtype", Kind::Text, "What names the port"),
            shown("lldp-port-id", Kind::Text, "Name of the port"),
            shown(
                "lldp-port-description",
                Kind::Text,
                "What it says of the port",
            ),
            shown("lldp-system-name", Kind::Text, "Its name"),
            shown(
                "lldp-system-description",
                Kind::Text,
                "What it says of itself",
            ),
            shown("lldp-ttl", Kind::SPAN, "How long what it says holds"),
            shown("lldp-system-caps", Kind::Text, "What it could do"),
            shown("lldp-system-caps-enabled", Kind::Text, "What it does"),
        ],
    ],
    columns: &[
        "interface",
        "address",
        "mac-address",
        "lldp-system-name",
        "lldp-port-id",
    ],
    ..Menu::new("/ip/neighbor/lldp", Shape::Rows, "Neighbors by LLDP")
};
