//! `/mpls/ldp/accept-filter`: filter for received labels.

use menu::{Family, Kind, Menu, Property};

use super::ADDRESSES;
use crate::declare::{VRF, optional, yes};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("prefix", Kind::Prefix(Family::Any), "The network").optional(),
            optional("neighbor", ADDRESSES, "The neighbour"),
            yes("accept", "Accept matching labels"),
            optional("vrf", VRF, "The VRF"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["prefix", "neighbor", "accept"],
    ..idle_rules(
        "/mpls/ldp/accept-filter",
        "Filter for labels received from neighbours",
    )
};
