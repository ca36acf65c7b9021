//! `/ip/hotspot/walled-garden/ip`: packets that may pass without logging in.

use menu::{Effect, Family, Kind, Menu, Property, Shape};

use super::OF_SERVER;
use crate::brief::{DISABLED_INVALID, PORTS, may, with};
use crate::firewall::PROTOCOL;
use crate::fragment::COMMENT_DISABLED;

const ADDRESSES: Kind = Kind::Not(&Kind::Addresses(Family::V4));
const LIST: Kind = Kind::Not(&Kind::Name);

const RULE: &[Property] = &[
    may("server", OF_SERVER, "The server"),
    may("src-address", ADDRESSES, "Address of the guest"),
    may("dst-address", ADDRESSES, "Address of the host"),
    may("dst-host", Kind::Name, "Name of the host"),
    may("protocol", Kind::Not(&PROTOCOL), "Protocol above IP"),
    may("dst-port", Kind::Not(&PORTS), "Port of the host"),
    may("src-address-list", LIST, "A list that the guest is in"),
    may("dst-address-list", LIST, "A list that the host is in"),
    with(
        "action",
        Kind::Words(&["accept", "drop", "reject"]),
        "accept",
        "What happens to a packet that matches",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[RULE, COMMENT_DISABLED],
    flags: DISABLED_INVALID,
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/walled-garden/ip",
        Shape::Ordered,
        "Packets that pass without logging in",
    )
};
