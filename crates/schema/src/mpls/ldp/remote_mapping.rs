//! `/mpls/ldp/remote-mapping`: labels of networks at neighbours.

use menu::{Family, Flag, Kind, Menu, Property};

use super::local_mapping::LABEL;
use crate::brief::may;
use crate::fragment::{COMMENT_SAID, idle_list};
use crate::terms::{VRF, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("dst-address", Kind::Prefix(Family::Any), "The network").required(),
            may("nexthop", Kind::Gateway(Family::Any), "The neighbour"),
            may("label", LABEL, "Its label"),
            may("vrf", VRF, "The VRF"),
            shown("peer", Kind::Text, "Who told it"),
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
        "Labels of networks at neighbours",
    )
};
