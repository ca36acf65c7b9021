//! `/ipv6/dhcp-server`: DHCPv6 servers (RFC 8415).

pub(crate) mod binding;
pub(crate) mod option;

use menu::{Kind, Menu, MenuShape, Property};

use crate::declare::{between, no, optional, shown, text, with_default, yes};
use crate::fragment::{COMMENT_DISABLED, interface};
use crate::ip::dhcp_server::{FLAGS, PARENT, QUEUE_PLACE, USE_RADIUS};

/// Options and option sets to send.
pub(crate) const OPTIONS: Kind = Kind::List(&Kind::Either(
    &Kind::Reference("dhcp6-option"),
    &Kind::Reference("dhcp6-option-set"),
));

/// A prefix pool, or static bindings only. A DHCPv6 client may create the pool later, so any name is accepted.
const POOL: Kind = Kind::Or(&["static-only"], &Kind::Name);

const SERVER: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the server"),
    interface("Interface of the server"),
    with_default("prefix-pool", POOL, "static-only", "Prefix pool"),
    with_default("address-pool", POOL, "static-only", "Address pool"),
    with_default("lease-time", Kind::SPAN, "3d", "Lifetime of a binding"),
    yes("rapid-commit", "Rapid commit: exchange of two messages"),
    with_default("use-radius", USE_RADIUS, "no", "Use RADIUS").inert(),
    with_default(
        "preference",
        between(0, 255),
        "255",
        "Preference value of the server",
    ),
    text(
        "binding-script",
        "Script to run when a binding is assigned or released",
    )
    .script(),
    with_default("dhcp-option", OPTIONS, "", "Options to send"),
];

const MORE: &[Property] = &[
    optional(
        "insert-queue-before",
        QUEUE_PLACE,
        "Position of client queues",
    )
    .inert(),
    with_default("parent-queue", PARENT, "none", "Parent of client queues")
        .quiet()
        .inert(),
    with_default(
        "route-distance",
        between(0, 255),
        "1",
        "Distance of routes to clients' prefixes",
    ),
    with_default(
        "allow-dual-stack-queue",
        Kind::Bool,
        "yes",
        "Use one queue for IPv4 and IPv6",
    )
    .quiet()
    .inert(),
    no(
        "use-reconfigure",
        "Allow the server to send reconfigure messages",
    )
    .inert(),
    with_default(
        "address-lists",
        Kind::List(&Kind::Name),
        "",
        "Address lists for clients' addresses",
    )
    .inert(),
    no(
        "ignore-ia-na-bindings",
        "Assign prefixes only, ignore address requests",
    ),
    shown("duid", Kind::Text, "DUID of this router"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[SERVER, MORE, COMMENT_DISABLED],
    flags: FLAGS,
    columns: &[
        "name",
        "interface",
        "address-pool",
        "prefix-pool",
        "preference",
        "lease-time",
    ],
    space: Some("dhcp6-server"),
    key: Some("name"),
    kind: "server",
    ..Menu::new(
        "/ipv6/dhcp-server",
        MenuShape::List,
        "DHCPv6 server settings",
    )
};
