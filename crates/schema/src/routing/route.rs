//! `/routing/route`: routes of all protocols and address families.

use menu::{Family, Kind, Menu, MenuShape};

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
        shown("gateway", Kind::Text, "Gateway of the route"),
        shown("immediate-gw", Kind::Text, "The gateways after resolution"),
        shown("distance", Kind::COUNTER, "The smallest distance wins"),
        shown("scope", Kind::COUNTER, "Scope for gateway resolution"),
        shown(
            "target-scope",
            Kind::COUNTER,
            "The greatest scope of a route that resolves it",
        ),
        shown("afi", Kind::Words(&["ip4", "ip6"]), "The family"),
        shown(
            "belongs-to",
            Kind::Words(&["connected", "static"]),
            "Origin of the route",
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
    ..Menu::new("/routing/route", MenuShape::Rows, "Routes of all protocols")
};
