//! `/routing/rip/network`: RIP networks of RouterOS 6.

use menu::{Family, Kind, Menu, Property};

use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[Property::new("network", Kind::Prefix(Family::V4), "The network").default("0.0.0.0/0")],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["network"],
    older: true,
    ..idle_list("/routing/rip/network", "Version 6: networks of RIP")
};
