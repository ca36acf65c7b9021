//! `/ipv6/dhcp-relay/routes`: routes to clients' prefixes.

use menu::{Effect, Family, Kind, Menu, Shape};

use crate::brief::{IPV6, on_items, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("relay", Kind::Text, "The relay"),
        read("prefix", Kind::Prefix(Family::V6), "The prefix"),
        read("peer-address", IPV6, "The client"),
        read("life-time", Kind::SPAN, "How long the prefix holds"),
        read("last-seen", Kind::SPAN, "When the client was last heard"),
    ]],
    columns: &["relay", "prefix", "peer-address", "life-time", "last-seen"],
    commands: &[on_items("remove", "Forget routes")],
    effect: Effect::None,
    ..Menu::new(
        "/ipv6/dhcp-relay/routes",
        Shape::Rows,
        "Routes to clients' prefixes",
    )
};
