//! `/routing/ospf/interface-template`: assignment of interfaces to areas.

use menu::{Family, Kind, Menu, OldProperty, Property};

use super::{AREA, HOW};
use crate::declare::{list, optional};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};

const NETWORKS: Kind = Kind::Prefix(Family::Any);

const WHICH: &[Property] = &[
    list("interfaces", &INTERFACES, "The interfaces").optional(),
    list("networks", &NETWORKS, "Networks of interfaces").optional(),
    AREA.required(),
    optional(
        "prefix-list",
        Kind::Text,
        "Prefix list of networks on which OSPF runs",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[WHICH, HOW, COMMENT_SAID],
    flags: DISABLED,
    columns: &["interfaces", "networks", "area", "type"],
    old: &[OldProperty::renamed("network", "networks")],
    old_paths: &["/routing/ospf/network"],
    ..idle_rules(
        "/routing/ospf/interface-template",
        "OSPF interface templates",
    )
};
