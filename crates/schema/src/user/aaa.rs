//! `/user/aaa`: RADIUS for users of the router.

use menu::{Kind, Menu, Policies, Property, Shape};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("use-radius", Kind::Bool, "Ask a RADIUS server about users").default("no"),
        Property::new("accounting", Kind::Bool, "Tell the RADIUS server of logins").default("yes"),
        Property::new(
            "interim-update",
            Kind::SPAN,
            "How often the RADIUS server is told of a session",
        )
        .default("0s"),
        Property::new(
            "default-group",
            Kind::Reference("user-group"),
            "Group of users about whom the RADIUS server says nothing else",
        )
        .default("read"),
        Property::new(
            "exclude-groups",
            Kind::List(&Kind::Reference("user-group")),
            "Groups that the RADIUS server can not give",
        )
        .default(""),
    ]],
    policies: Policies::POLICY,
    ..Menu::new(
        "/user/aaa",
        Shape::Settings,
        "Authentication of users by RADIUS",
    )
};
