//! `/interface/list`: interface lists.

pub(crate) mod member;

use menu::{Builtin, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::fragment::COMMENT;

const LISTS: Kind = Kind::List(&Kind::Reference("interface-list"));

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the interface list").required(),
        Property::new("include", LISTS, "Lists whose members are included")
            .default("")
            .apart(),
        Property::new("exclude", LISTS, "Lists whose members are excluded")
            .default("")
            .apart(),
        COMMENT,
    ]],
    flags: &[Flag::new('*', "builtin", 0), Flag::new('D', "dynamic", 1)],
    columns: &["name", "include", "exclude"],
    space: Some("interface-list"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have interface list with such name",
    }],
    builtin: &[
        Builtin {
            values: &[("name", "all"), ("comment", "contains all interfaces")],
        },
        Builtin {
            values: &[("name", "none"), ("comment", "contains no interfaces")],
        },
        Builtin {
            values: &[
                ("name", "dynamic"),
                ("comment", "contains dynamic interfaces"),
            ],
        },
        Builtin {
            values: &[
                ("name", "static"),
                ("comment", "contains static interfaces"),
            ],
        },
    ],
    gathers: Some((member::MENU.path, "include")),
    conditions: crate::conditions::LIST,
    ..Menu::new("/interface/list", MenuShape::List, "Lists of interfaces")
};
