//! `/routing/route`: routes of all protocols and address families.

use menu::{Family, Kind, Menu, Shape};

use crate::declare::shown;
use crate::ip::route::FLAGS;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown(
            "dst-address",
            Kind::Prefix(Family::Any),
            "Destination of the route",
        ),
        shown(
            "routing-table",
            Kind::Reference("routing-table"),
            "The table of the route",
        ),
        shown("gateway", Kind::Text, "Where the route leads"),
        shown("immediate-gw", Kind::Text, "The gateways after resolution"),
        shown("distance", Kind::COUNTER, "The smallest distance wins"),
        shown(
            "scope",
            Kind::COUNTER,
            "Which routes may resolve by this one",
        ),
        shown(
            "target-scope",
            Kind::COUNTER,
            "The greatest scope of a route that resolves it",
        ),
        shown("afi", Kind::Words(&["ip4", "ip6"]), "The family"),
        shown(
            "belongs-to",
            Kind::Words(&["connected", "static"]),
            "Who made the route",
        ),
    ]],
    flags: FLAGS,
    columns: &[
        "dst-address",
        "gateway",
        "afi",
        "distance",
        "scope",
        "target-scope",
    ],
    ..Menu::new("/routing/route", Shape::Rows, "Routes of all protocols")
};
