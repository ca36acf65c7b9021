//! `/interface/ethernet/switch/port-isolation`: which ports of a switch chip may talk.

use menu::{Follow, Menu, Property};

use super::PORTS;
use crate::declare::reference;
use crate::fragment::idle_fixed;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        reference("name", "interface", "The port").read_only(),
        reference("switch", "switch", "The switch chip")
            .default("switch1")
            .read_only(),
        Property::new(
            "forwarding-override",
            PORTS,
            "The ports that it may talk to",
        )
        .default(""),
    ]],
    columns: &["name", "switch", "forwarding-override"],
    key: Some("name"),
    follows: &[Follow {
        path: "/interface/ethernet",
        values: &[],
    }],
    ..idle_fixed(
        "/interface/ethernet/switch/port-isolation",
        "Isolation of switch ports",
    )
};
