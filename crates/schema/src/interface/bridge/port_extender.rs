//! `/interface/bridge/port-extender`: ports controlled by another device's bridge (IEEE 802.1BR).

use menu::{Kind, Menu, Property};

use crate::declare::list;
use crate::fragment::idle_settings;
use crate::interface::ethernet::switch::SWITCH;

const PORTS: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        list("control-ports", &PORTS, "Ports to the controller bridge").default(""),
        list("excluded-ports", &PORTS, "Excluded ports").default(""),
        Property::new("switch", Kind::Or(&["none"], &SWITCH), "The switch chip").default("none"),
    ]],
    ..idle_settings("/interface/bridge/port-extender", "Port extender settings")
};
