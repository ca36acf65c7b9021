//! `/ip/neighbor/lldp`: neighbours by LLDP (IEEE 802.1AB).

use menu::{Effect, Kind, Menu, Shape};

use super::PLACE;
use crate::brief::read;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        PLACE,
        &[
            read(
                "lldp-chassis-id-subtype",
                Kind::Text,
                "What names the chassis",
            ),
            read("lldp-chassis-id", Kind::Text, "Name of the chassis"),
            read("lldp-port-id-subtype", Kind::Text, "What names the port"),
            read("lldp-port-id", Kind::Text, "Name of the port"),
            read(
                "lldp-port-description",
                Kind::Text,
                "What it says of the port",
            ),
            read("lldp-system-name", Kind::Text, "Its name"),
            read(
                "lldp-system-description",
                Kind::Text,
                "What it says of itself",
            ),
            read("lldp-ttl", Kind::SPAN, "How long what it says holds"),
            read("lldp-system-caps", Kind::Text, "What it could do"),
            read("lldp-system-caps-enabled", Kind::Text, "What it does"),
        ],
    ],
    columns: &[
        "interface",
        "address",
        "mac-address",
        "lldp-system-name",
        "lldp-port-id",
    ],
    effect: Effect::None,
    ..Menu::new("/ip/neighbor/lldp", Shape::Rows, "Neighbors by LLDP")
};
