//! `/ipv6/dhcp-server/option/sets`: option sets.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{named, with_default};
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the set"),
        with_default(
            "options",
            Kind::List(&Kind::Reference("dhcp6-option")),
            "",
            "The options",
        ),
        COMMENT,
    ]],
    columns: &["name", "options"],
    space: Some("dhcp6-option-set"),
    key: Some("name"),
    ..Menu::new(
        "/ipv6/dhcp-server/option/sets",
        MenuShape::List,
        "Sets of DHCPv6 options",
    )
};
