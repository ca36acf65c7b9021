//! `/ip/socks/access`: access rules.

use menu::{Effect, Family, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED, PORTS, optional, with_default};
use crate::fragment::COMMENT_DISABLED;

const SOURCE: Kind = Kind::Not(&Kind::Addresses(Family::Any));
const DESTINATION: Kind = Kind::Not(&Kind::Either(&Kind::Addresses(Family::Any), &Kind::Host));

const RULE: &[Property] = &[
    optional("src-address", SOURCE, "Address of the client"),
    optional("src-port", Kind::Not(&PORTS), "Port of the client"),
    optional("dst-address", DESTINATION, "Address or name of the server"),
    optional("dst-port", Kind::Not(&PORTS), "Port of the server"),
    with_default(
        "action",
        Kind::Words(&["deny", "allow"]),
        "allow",
        "Allow or deny the connection",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[RULE, COMMENT_DISABLED],
    flags: DISABLED,
    columns: &[
        "src-address",
        "src-port",
        "dst-address",
        "dst-port",
        "action",
    ],
    effect: Effect::None,
    ..Menu::new(
        "/ip/socks/access",
        MenuShape::Ordered,
        "Access rules for connections",
    )
};
