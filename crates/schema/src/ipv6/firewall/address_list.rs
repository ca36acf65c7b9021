//! `/ipv6/firewall/address-list`: IPv6 address lists.

use menu::{Family, Kind, Menu, MenuShape, OldProperty};

use crate::declare::{DISABLED_DYNAMIC, no, optional, property, shown};
use crate::firewall::LIST_NAMES;
use crate::fragment::COMMENT_DISABLED;
use crate::ip::firewall::address_list::{DISTINCT, passing, settle};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            property("list", Kind::Name, "Name of the list")
                .required()
                .bare()
                .shared(LIST_NAMES),
            property(
                "address",
                Kind::Either(&Kind::Addresses(Family::V6), &Kind::Host),
                "IPv6 address, prefix, range, or DNS name",
            )
            .default("::/0"),
            shown("creation-time", Kind::Text, "Creation time of the entry").bare(),
            optional(
                "timeout",
                Kind::SPAN,
                "Time after which the entry is removed",
            )
            .runs_down(),
            no("dynamic", "Entry does not survive a restart"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["list", "address", "creation-time", "timeout"],
    distinct: DISTINCT,
    passing: Some(passing),
    clashes_with_rows: true,
    derive: Some(settle),
    old: &[OldProperty::gone("creation-time")],
    ..Menu::new(
        "/ipv6/firewall/address-list",
        MenuShape::List,
        "Lists of addresses",
    )
};
