//! `/routing/bgp/network`: advertised networks of RouterOS 6.

use menu::{Family, Kind, Menu, Property};

use crate::declare::yes;
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("network", Kind::Prefix(Family::Any), "The network").required(),
            yes(
                "synchronize",
                "Advertise the network only while there is a route",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["network", "synchronize"],
    older: true,
    ..idle_list("/routing/bgp/network", "Version 6: advertised networks")
};
