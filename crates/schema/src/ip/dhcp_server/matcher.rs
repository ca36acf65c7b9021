//! `/ip/dhcp-server/matcher`: address pools selected by client options.

use menu::{Kind, Menu, MenuShape, Property};

use super::{OPTION_SET, POOL};
use crate::declare::{DISABLED, between, property, with_default};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the matcher").required(),
            with_default(
                "server",
                Kind::Or(&["all"], &Kind::Reference("dhcp-server")),
                "all",
                "DHCP server of the matcher",
            ),
            property("code", between(1, 254), "Number of the option").required(),
            property(
                "value",
                Kind::Sized { min: 1, max: 510 },
                "Value of the option",
            )
            .required(),
            with_default(
                "matching-type",
                Kind::Words(&["exact", "substring"]),
                "exact",
                "Comparison with the option's value",
            ),
            with_default(
                "address-pool",
                Kind::Or(&["none"], &POOL),
                "none",
                "Address pool",
            ),
            with_default("option-set", OPTION_SET, "none", "Options to send"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["name", "server", "address-pool", "code", "value"],
    space: Some("dhcp-matcher"),
    key: Some("name"),
    ..Menu::new(
        "/ip/dhcp-server/matcher",
        MenuShape::List,
        "Rules that match clients by their options",
    )
};
