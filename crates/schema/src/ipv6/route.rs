//! `/ipv6/route`: routes of IPv6.

use menu::{Family, Kind, Menu, Property, Shape};

use crate::fragment::{COMMENT_DISABLED, route};
use crate::ip::route::{FLAGS, OLD};

const GATEWAY: Kind = Kind::Gateway(Family::V6);
const ROUTE: &[Property] = &route(Family::V6, "::/0", &GATEWAY);

pub(crate) static MENU: Menu = Menu {
    properties: &[ROUTE, &[COMMENT_DISABLED[1]]],
    flags: FLAGS,
    columns: &["dst-address", "gateway", "routing-table", "distance"],
    sort: &["dst-address", "distance"],
    old: OLD,
    rank: 510,
    unnumbered_dynamic: true,
    ..Menu::new("/ipv6/route", Shape::List, "Route management")
};
