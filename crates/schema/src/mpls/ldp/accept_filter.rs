//! `/mpls/ldp/accept-filter`: labels that are taken.

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
            yes("accept", "Takes them"),
            may("vrf", VRF, "The VRF"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["prefix", "neighbor", "accept"],
    ..idle_rules("/mpls/ldp/accept-filter", "Labels that are taken")
};
