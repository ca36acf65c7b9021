//! `/interface/bridge/port-controller`: a bridge that controls port extenders (IEEE 802.1BR).

use menu::{Kind, Menu, Property};

use crate::declare::list;
use crate::fragment::idle_settings;
use crate::interface::ethernet::switch::SWITCH;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "bridge",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "The bridge",
        )
        .default("none"),
        list(
            "cascade-ports",
            &Kind::Reference("interface"),
            "Cascade ports to port extenders",
        )
        .default(""),
        Property::new("switch", Kind::Or(&["none"], &SWITCH), "The switch chip").default("none"),
    ]],
    ..idle_settings(
        "/interface/bridge/port-controller",
        "Port controller for port extenders",
    )
};
