//! `/mpls/ldp/advertise-filter`: labels that neighbours are told.

use menu::{Family, Kind, Menu, Property};

use super::ADDRESSES;
use crate::brief::may;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};
use crate::terms::{VRF, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("prefix", Kind::Prefix(Family::Any), "The network").optional(),
            may("neighbor", ADDRESSES, "The neighbour"),
            yes("advertise", "Tells them"),
            may("vrf", VRF, "The VRF"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["prefix", "neighbor", "advertise"],
    ..idle_rules(
        "/mpls/ldp/advertise-filter",
        "Labels that neighbours are told",
    )
};
