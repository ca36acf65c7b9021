//! `/ip/hotspot/walled-garden/ip`: packets accepted without login.

use menu::{Effect, Family, Kind, Menu, MenuShape, Property};

use super::OF_SERVER;
use crate::declare::{DISABLED_INVALID, PORTS, optional, with_default};
use crate::firewall::PROTOCOL;
use crate::fragment::COMMENT_DISABLED;

const ADDRESSES: Kind = Kind::Not(&Kind::Addresses(Family::V4));
const LIST: Kind = Kind::Not(&Kind::Name);

const RULE: &[Property] = &[
    optional("server", OF_SERVER, "The server"),
    optional("src-address", ADDRESSES, "Address of the guest"),
    optional("dst-address", ADDRESSES, "Address of the host"),
    optional("dst-host", Kind::Name, "Name of the host"),
    optional("protocol", Kind::Not(&PROTOCOL), "Protocol above IP"),
    optional("dst-port", Kind::Not(&PORTS), "Port of the host"),
    optional("src-address-list", LIST, "Address list of the guest"),
    optional("dst-address-list", LIST, "Address list of the host"),
    with_default(
        "action",
        Kind::Words(&["accept", "drop", "reject"]),
        "accept",
        "Action for packets that match",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[RULE, COMMENT_DISABLED],
    flags: DISABLED_INVALID,
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/walled-garden/ip",
        MenuShape::Ordered,
        "Destinations accessible without login",
    )
};
