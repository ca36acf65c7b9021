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
            yes("summary-only", "Leaves out its parts"),
            yes("inherit-attributes", "Has the attributes of its parts"),
            no("include-igp", "Other protocols' routes are parts too"),
            chain("attribute-filter", "Chain that gives attributes"),
            chain(
                "suppress-filter",
                "Chain that names parts which are left out",
            ),
            chain("advertise-filter", "Chain that names parts which count"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["prefix", "instance", "summary-only"],
    older: true,
    ..idle_list(
        "/routing/bgp/aggregate",
        "Version 6: routes that others are told as one",
    )
};
