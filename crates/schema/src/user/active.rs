//! `/user/active`: logged-in users.

use menu::{Argument, Command, Effect, Family, Flag, Kind, Menu, MenuShape, Policies, Property};

const NUMBERS: &[Argument] = &[Argument {
    name: "numbers",
    kind: Kind::Text,
    help: "List of item numbers",
    required: true,
    unnamed: false,
}];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("when", Kind::Text, "Time of login").read_only(),
        Property::new("name", Kind::Text, "Name of the user").read_only(),
        Property::new(
            "address",
            Kind::Address(Family::Any),
            "Address from which the user logged in",
        )
        .read_only(),
        Property::new("via", Kind::Text, "Login method").read_only(),
        Property::new("group", Kind::Text, "Group of the user").read_only(),
    ]],
    flags: &[Flag::new('R', "radius", 0), Flag::new('M', "by-romon", 1)],
    columns: &["when", "name", "address", "via"],
    commands: &[Command {
        name: "remove",
        help: "End sessions",
        arguments: NUMBERS,
        effect: Effect::Full,
        repeats: false,
    }],
    policies: Policies::POLICY,
    ..Menu::new("/user/active", MenuShape::Rows, "Active users")
};
