//! `/interface/list/member`: members of interface lists.

use menu::{Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "list",
                Kind::Reference("interface-list"),
                "The interface list",
            )
            .required()
            .apart(),
            // RouterOS: a member whose interface was removed is kept; exports write it without an interface.
            Property::new(
                "interface",
                Kind::Reference("interface"),
                "Member interface",
            )
            .optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('D', "dynamic", 1)],
    columns: &["list", "interface"],
    unique: &[Unique {
        properties: &["list", "interface"],
        failure: "already have such entry",
    }],
    conditions: crate::conditions::MEMBER,
    ..Menu::new(
        "/interface/list/member",
        MenuShape::List,
        "Members of interface lists",
    )
};
