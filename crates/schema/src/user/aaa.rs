//! `/user/aaa`: RADIUS for users of the router.

use menu::{Kind, Menu, MenuShape, Policies, Property};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("use-radius", Kind::Bool, "Authenticate users by RADIUS").default("no"),
        Property::new("accounting", Kind::Bool, "Account logins by RADIUS").default("yes"),
        Property::new(
            "interim-update",
            Kind::SPAN,
            "Interim update interval of accounting",
        )
        .default("0s"),
        Property::new(
            "default-group",
            Kind::Reference("user-group"),
            "Group of users for whom the RADIUS server sends no group",
        )
        .default("read"),
        Property::new(
            "exclude-groups",
            Kind::List(&Kind::Reference("user-group")),
            "Groups that the RADIUS server cannot assign",
        )
        .default(""),
    ]],
    policies: Policies::POLICY,
    ..Menu::new(
        "/user/aaa",
        MenuShape::Settings,
        "Authentication of users by RADIUS",
    )
};
