//! `/ipv6/route`: IPv6 routes.

use menu::{Family, Kind, Menu, MenuShape, Property};

use crate::fragment::{COMMENT_DISABLED, ROUTE, route};
use crate::ip::route::{FLAGS, OLD};

const GATEWAY: Kind = Kind::Gateway(Family::V6);
const WAY: &[Property] = &route(Family::V6, "::/0", &GATEWAY);

pub(crate) static MENU: Menu = Menu {
    properties: &[WAY, ROUTE, COMMENT_DISABLED],
    flags: FLAGS,
    columns: &["dst-address", "gateway", "routing-table", "distance"],
    sort: &["dst-address", "distance"],
    old: OLD,
    unnumbered_dynamic: true,
    ..Menu::new("/ipv6/route", MenuShape::List, "Route management")
};
