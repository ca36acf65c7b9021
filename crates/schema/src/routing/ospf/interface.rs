//! `/routing/ospf/interface`: OSPF interfaces.

use menu::{Family, Flag, Kind, Menu, Property};

use super::{AREA, HOW, OLD};
use crate::declare::{optional, reference, shown};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, idle_list};

const WHICH: &[Property] = &[
    Property::new("interface", INTERFACES, "The interface").default("all"),
    AREA.optional(),
    optional(
        "address",
        Kind::Address(Family::Any),
        "Address of the interface",
    ),
    optional(
        "vlink-neighbor-id",
        Kind::Address(Family::V4),
        "Router ID of the virtual link's remote router",
    ),
    reference(
        "vlink-transit-area",
        "ospf-area",
        "Transit area of a virtual link",
    )
    .optional(),
    shown("state", Kind::Text, "State"),
    shown("neighbors", Kind::COUNTER, "Neighbours"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[WHICH, HOW, COMMENT_SAID],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('X', "disabled", 1)],
    columns: &["interface", "area", "type", "state"],
    old: OLD,
    ..idle_list("/routing/ospf/interface", "Interfaces on which OSPF runs")
};
