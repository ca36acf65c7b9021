//! `/ipv6/dhcp-client`: DHCPv6 clients (RFC 8415).

pub(crate) mod option;

use menu::{Family, Kind, Menu, MenuShape, Property};

use crate::declare::{
    IPV6, TABLES, U32, between, no, on_items, optional, property, shown, text, with_default, yes,
};
use crate::fragment::{COMMENT_DISABLED, interface};
use crate::ip::dhcp_client::CHECK_GATEWAY;
use crate::ip::dhcp_server::FLAGS;

const ASK: &[Property] = &[
    interface("Interface of the client"),
    property(
        "request",
        Kind::Set(&["info", "address", "prefix"]),
        "Requested data",
    )
    .required(),
    no(
        "accept-prefix-without-address",
        "Whether a prefix alone will do",
    ),
    no("add-default-route", "Whether a default route is added"),
    with_default(
        "default-route-distance",
        between(0, 255),
        "1",
        "Distance of the default route",
    ),
    with_default(
        "default-route-tables",
        TABLES,
        "default",
        "Tables that get the default route",
    ),
    with_default(
        "check-gateway",
        CHECK_GATEWAY,
        "none",
        "Monitoring of the gateway",
    ),
    yes("use-peer-dns", "Whether the server's DNS servers are used"),
    no(
        "use-interface-duid",
        "Whether the interface's address names this router",
    ),
    with_default("custom-duid", Kind::Digits, "", "DUID of this router"),
    yes(
        "validate-server-duid",
        "Whether the server's name is checked",
    )
    .inert(),
    no("rapid-commit", "Whether two messages will do"),
    no("allow-reconfigure", "Whether the server may ask to renew").inert(),
    with_default(
        "dhcp-options",
        Kind::List(&Kind::Reference("dhcp6-client-option")),
        "",
        "Options to send",
    ),
];

const POOL: &[Property] = &[
    text("pool-name", "Pool for received prefixes"),
    with_default(
        "pool-prefix-length",
        between(0, 128),
        "64",
        "Length of the pool's prefixes",
    ),
    with_default(
        "prefix-hint",
        Kind::Prefix(Family::V6),
        "::/0",
        "Requested prefix",
    ),
    with_default(
        "prefix-address-lists",
        Kind::List(&Kind::Name),
        "",
        "Address lists for received prefixes",
    )
    .inert(),
    text("script", "Script to run when the lease changes").script(),
    optional("custom-iapd-id", U32, "Number of the request for a prefix"),
    optional(
        "custom-iana-id",
        U32,
        "Number of the request for an address",
    ),
];

const GOT: &[Property] = &[
    shown("status", Kind::Text, "State of the client"),
    shown("duid", Kind::Text, "DUID of this router"),
    shown("dhcp-server-v6", IPV6, "The server"),
    shown("prefix", Kind::Text, "Prefix and its remaining lifetime"),
    shown("address", Kind::Text, "Address and its remaining lifetime"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[ASK, POOL, GOT, COMMENT_DISABLED],
    flags: FLAGS,
    columns: &["interface", "status", "request", "prefix", "address"],
    commands: &[
        on_items("release", "Give everything back and ask again"),
        on_items("renew", "Ask for longer"),
    ],
    ..Menu::new(
        "/ipv6/dhcp-client",
        MenuShape::List,
        "DHCPv6 client settings",
    )
};
