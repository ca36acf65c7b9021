//! `/routing/table`: routing tables.

use menu::{Builtin, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the table").required(),
            Property::new(
                "fib",
                Kind::Presence,
                "Install the table's routes in the forwarding table",
            )
            .optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('I', "invalid", 1),
    ],
    space: Some("routing-table"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have routing table with such name",
    }],
    builtin: &[Builtin {
        values: &[("name", "main"), ("fib", "yes")],
    }],
    ..Menu::new("/routing/table", MenuShape::List, "Routing tables")
};
