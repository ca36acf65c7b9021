//! `/ip/ipsec/policy/group`: groups of policy templates.

use menu::{Builtin, ExportSelector, Kind, Menu, MenuShape, Property};

use crate::declare::DEFAULT;
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the group"),
        COMMENT,
    ]],
    flags: DEFAULT,
    columns: &["name"],
    space: Some("ipsec-policy-group"),
    key: Some("name"),
    kind: "group",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    ..Menu::new(
        "/ip/ipsec/policy/group",
        MenuShape::List,
        "Groups of policy templates",
    )
};
