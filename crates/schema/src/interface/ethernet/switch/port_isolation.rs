//! `/interface/ethernet/switch/port-isolation`: ports between which a switch chip may forward.

use menu::{FollowedMenu, Kind, Menu, MenuShape, Property};

use super::{CPUS, PORT, PORTS};
use crate::declare::{reference, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", PORT, "The port").read_only(),
        reference("switch", "switch", "The switch chip")
            .default("switch1")
            .read_only(),
        Property::new(
            "forwarding-override",
            PORTS,
            "Ports to which this port may forward",
        )
        .default(""),
        shown("status", Kind::Text, "Features that the switch chip lacks"),
    ]],
    columns: &["name", "switch", "forwarding-override"],
    key: Some("name"),
    builtin: CPUS,
    follows: &[FollowedMenu {
        path: "/interface/ethernet",
        values: &[],
    }],
    ..Menu::new(
        "/interface/ethernet/switch/port-isolation",
        MenuShape::Fixed,
        "Isolation of switch ports",
    )
};
