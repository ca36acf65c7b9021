//! `/ipv6/nd/prefix/default`: defaults for advertised prefixes of addresses.

use menu::{Menu, Shape};

use super::{BY_DHCP, LIFETIME};
use crate::declare::{with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("autonomous", "Whether hosts make addresses of the prefix"),
        BY_DHCP,
        with_default(
            "valid-lifetime",
            LIFETIME,
            "4w2d",
            "How long the prefix may be used",
        ),
        with_default(
            "preferred-lifetime",
            LIFETIME,
            "1w",
            "How long the prefix should be used",
        ),
    ]],
    ..Menu::new(
        "/ipv6/nd/prefix/default",
        Shape::Settings,
        "How prefixes are advertised",
    )
};
