//! `/ipv6/dhcp-server/binding`: bindings of prefixes and addresses.

use menu::{Family, Flag, Kind, Menu, MenuShape, Property};

use super::OPTIONS;
use crate::declare::{IPV6, U32, on_items, optional, property, shown, text, with_default};
use crate::fragment::COMMENT_DISABLED;
use crate::ip::dhcp_server::{PARENT, QUEUE_PLACE};

const CLIENT: &[Property] = &[
    optional("address", Kind::Prefix(Family::V6), "The prefix or address"),
    property("duid", Kind::Filled, "DUID of the client").required(),
    property("iaid", U32, "IAID of the request").required(),
    with_default(
        "ia-type",
        Kind::Words(&["na", "pd"]),
        "pd",
        "Type of the binding: address or prefix",
    ),
    with_default(
        "server",
        Kind::Or(&["all"], &Kind::Reference("dhcp6-server")),
        "all",
        "The server",
    ),
    with_default("life-time", Kind::SPAN, "3d", "Lifetime of the binding"),
    optional("prefix-pool", Kind::Name, "Pool of the prefix"),
    with_default("dhcp-option", OPTIONS, "", "Options to send"),
    text("rate-limit", "Rate limit of the client").inert(),
    with_default(
        "allow-dual-stack-queue",
        Kind::Bool,
        "yes",
        "Use one queue for IPv4 and IPv6",
    )
    .inert(),
    with_default(
        "address-lists",
        Kind::List(&Kind::Name),
        "",
        "Address lists for the prefix",
    )
    .inert(),
    optional(
        "insert-queue-before",
        QUEUE_PLACE,
        "Position of the client's queue",
    )
    .inert(),
    optional("parent-queue", PARENT, "Parent of the client's queue").inert(),
    optional("queue-type", Kind::Name, "Queue type of the client's queue").inert(),
];

const STATE: &[Property] = &[
    shown(
        "active-server",
        Kind::Text,
        "Server that assigned the binding",
    ),
    shown("status", Kind::Text, "State of the binding"),
    shown("expires-after", Kind::SPAN, "Remaining lifetime"),
    shown(
        "last-seen",
        Kind::SPAN,
        "Time since the client's last message",
    ),
    shown("client-address", IPV6, "Address of the client"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[CLIENT, STATE, COMMENT_DISABLED],
    flags: &[
        Flag::new('I', "invalid", 0),
        Flag::new('X', "disabled", 0),
        Flag::new('R', "radius", 1),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &["address", "duid", "server", "status", "last-seen"],
    commands: &[
        on_items("make-static", "Make a dynamic binding static"),
        on_items(
            "send-reconfigure",
            "Send a reconfigure message to the client",
        ),
    ],
    ..Menu::new(
        "/ipv6/dhcp-server/binding",
        MenuShape::List,
        "DHCPv6 bindings",
    )
};
