//! `/user/settings`: password rules.

use menu::{Kind, Menu, MenuShape, Policies, Property};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "minimum-password-length",
            Kind::Number { min: 0, max: 255 },
            "Minimum length of a password",
        )
        .default("0"),
        Property::new(
            "minimum-categories",
            Kind::Number { min: 0, max: 4 },
            "Minimum number of character categories in a password",
        )
        .default("0"),
    ]],
    policies: Policies::POLICY,
    ..Menu::new("/user/settings", MenuShape::Settings, "Rules for passwords")
};
