//! `/ipv6/dhcp-relay`: DHCPv6 relays.

pub(crate) mod option;
pub(crate) mod routes;

use menu::{Absent, Effect, Kind, Menu, MenuShape, Part, Property};

use crate::declare::{DISABLED_INVALID, IPV6, no, with_default};
use crate::fragment::{COMMENT_DISABLED, counter, interface};
use crate::ip::dhcp_relay::{COMMANDS, THRESHOLD};

/// `fe80::1%ether1`: an address, with the interface of a link-local address.
const SERVER: Kind = Kind::Parts(&[
    Part::new("", IPV6),
    Part::new("%", Kind::Name).or(Absent::Left),
]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the relay"),
            interface("Interface on which requests are received"),
            Property::new("dhcp-server", Kind::List(&SERVER), "DHCPv6 servers").required(),
            with_default(
                "dhcp-options",
                Kind::List(&Kind::Reference("dhcp6-relay-option")),
                "",
                "Options to add",
            ),
            with_default(
                "link-address",
                IPV6,
                "::",
                "Link address of the relay messages",
            ),
            THRESHOLD,
            no("store-relayed-bindings", "Add routes to clients' prefixes"),
            counter("requests", "Number of forwarded requests"),
            counter("responses", "Number of forwarded replies"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "interface", "dhcp-server", "link-address"],
    stats: &["name", "requests", "responses"],
    space: Some("dhcp6-relay"),
    key: Some("name"),
    kind: "relay",
    commands: COMMANDS,
    effect: Effect::None,
    ..Menu::new("/ipv6/dhcp-relay", MenuShape::List, "DHCPv6 relay settings")
};
