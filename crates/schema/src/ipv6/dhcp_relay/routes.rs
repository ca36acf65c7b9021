//! `/ipv6/dhcp-relay/routes`: routes to delegated prefixes.

use menu::{Effect, Family, Kind, Menu, MenuShape};

use crate::declare::{IPV6, on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("relay", Kind::Text, "The relay"),
        shown("prefix", Kind::Prefix(Family::V6), "The prefix"),
        shown("peer-address", IPV6, "The client"),
        shown("life-time", Kind::SPAN, "Lifetime of the prefix"),
        shown(
            "last-seen",
            Kind::SPAN,
            "Time since the client's last message",
        ),
    ]],
    columns: &["relay", "prefix", "peer-address", "life-time", "last-seen"],
    commands: &[on_items("remove", "Remove routes")],
    effect: Effect::None,
    ..Menu::new(
        "/ipv6/dhcp-relay/routes",
        MenuShape::Rows,
        "Routes to clients' prefixes",
    )
};
