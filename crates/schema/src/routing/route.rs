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
        shown(
            "immediate-gw",
            Kind::Text,
            "Resolved gateways and interfaces",
        ),
        shown(
            "distance",
            Kind::COUNTER,
            "Administrative distance; the smallest wins",
        ),
        shown("scope", Kind::COUNTER, "Scope for gateway resolution"),
        shown(
            "target-scope",
            Kind::COUNTER,
            "Maximum scope of routes that resolve the gateway",
        ),
        shown("afi", Kind::Words(&["ip4", "ip6"]), "Address family"),
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
