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
        "Accept a prefix without an address",
    ),
    no("add-default-route", "Add a default route"),
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
        "Routing tables in which the default route is installed",
    ),
    with_default(
        "check-gateway",
        CHECK_GATEWAY,
        "none",
        "Monitoring of the gateway",
    ),
    yes("use-peer-dns", "Use the DNS servers sent by the server"),
    no(
        "use-interface-duid",
        "Build the DUID from the interface's MAC address",
    ),
    with_default("custom-duid", Kind::Digits, "", "DUID of this router"),
    yes("validate-server-duid", "Check the server's DUID").inert(),
    no("rapid-commit", "Rapid commit: exchange of two messages"),
    no(
        "allow-reconfigure",
        "Accept reconfigure messages of the server",
    )
    .inert(),
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
    optional("custom-iapd-id", U32, "IAID of the prefix request"),
    optional("custom-iana-id", U32, "IAID of the address request"),
];

const GOT: &[Property] = &[
    shown("status", Kind::Text, "State of the client"),
    shown("duid", Kind::Text, "DUID of this router"),
    shown("dhcp-server-v6", IPV6, "DUID and address of the server"),
    shown("prefix", Kind::Text, "Prefix and its remaining lifetime"),
    shown("address", Kind::Text, "Address and its remaining lifetime"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[ASK, POOL, GOT, COMMENT_DISABLED],
    flags: FLAGS,
    columns: &["interface", "status", "request", "prefix", "address"],
    commands: &[
        on_items("release", "Release the lease and request a new one"),
        on_items("renew", "Renew the lease"),
    ],
    ..Menu::new(
        "/ipv6/dhcp-client",
        MenuShape::List,
        "DHCPv6 client settings",
    )
};
