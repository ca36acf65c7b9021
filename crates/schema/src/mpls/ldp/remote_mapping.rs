//! `/mpls/ldp/remote-mapping`: label bindings of neighbours.

use menu::{Family, Flag, Kind, Menu, Property};

use super::local_mapping::LABEL;
use crate::declare::{VRF, optional, shown};
use crate::fragment::{COMMENT_SAID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("dst-address", Kind::Prefix(Family::Any), "The network").required(),
            optional("nexthop", Kind::Gateway(Family::Any), "The neighbour"),
            optional("label", LABEL, "Label"),
            optional("vrf", VRF, "The VRF"),
            shown("peer", Kind::Text, "Neighbour that advertised the label"),
        ],
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('I', "inactive", 2),
    ],
    columns: &["vrf", "dst-address", "nexthop", "label", "peer"],
    ..idle_list(
        "/mpls/ldp/remote-mapping",
        "Labels received from neighbours",
    )
};
