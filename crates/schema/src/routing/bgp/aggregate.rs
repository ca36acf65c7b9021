//! `/routing/bgp/aggregate`: route aggregates of RouterOS 6.

use menu::{Family, Kind, Menu, Property};

use crate::declare::{no, reference, yes};
use crate::dynamic_routing::chain;
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("prefix", Kind::Prefix(Family::Any), "The network").required(),
            reference("instance", "bgp-instance", "The instance").required(),
            yes(
                "summary-only",
                "Advertise only the aggregate, not its component routes",
            ),
            yes(
                "inherit-attributes",
                "Inherit the attributes of the component routes",
            ),
            no("include-igp", "Include routes of other protocols"),
            chain("attribute-filter", "Filter chain that sets attributes"),
            chain(
                "suppress-filter",
                "Filter chain that selects suppressed component routes",
            ),
            chain(
                "advertise-filter",
                "Filter chain that selects the component routes",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["prefix", "instance", "summary-only"],
    older: true,
    ..idle_list("/routing/bgp/aggregate", "Version 6: aggregated routes")
};
