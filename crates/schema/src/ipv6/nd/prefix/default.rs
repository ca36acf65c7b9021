//! `/ipv6/nd/prefix/default`: defaults for advertised prefixes of addresses.

use menu::{Menu, MenuShape};

use super::{BY_DHCP, LIFETIME};
use crate::declare::{with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes(
            "autonomous",
            "Autonomous flag: hosts configure addresses (SLAAC)",
        ),
        BY_DHCP,
        with_default(
            "valid-lifetime",
            LIFETIME,
            "4w2d",
            "Valid lifetime of the prefix",
        ),
        with_default(
            "preferred-lifetime",
            LIFETIME,
            "1w",
            "Preferred lifetime of the prefix",
        ),
    ]],
    ..Menu::new(
        "/ipv6/nd/prefix/default",
        MenuShape::Settings,
        "Defaults of advertised prefixes",
    )
};
