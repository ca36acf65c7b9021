//! `/ip/dhcp-server`: DHCP servers (RFC 2131).

pub(crate) mod alert;
pub(crate) mod config;
pub(crate) mod lease;
pub(crate) mod matcher;
pub(crate) mod network;
pub(crate) mod option;

use menu::{Argument, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    IPV4, NONE_OR_SPAN, argument, between, command, no, optional, seconds, text, with_default,
};
use crate::fragment::{COMMENT_DISABLED, interface};

/// Position of a dynamic queue.
pub(crate) const QUEUE_PLACE: Kind = Kind::Words(&["first", "bottom"]);
/// Parent queue of a client's queue.
pub(crate) const PARENT: Kind = Kind::Or(&["none"], &Kind::Name);
/// Options to send.
pub(crate) const OPTIONS: Kind = Kind::List(&Kind::Reference("dhcp-option"));
/// Option set to send.
pub(crate) const OPTION_SET: Kind = Kind::Or(&["none"], &Kind::Reference("dhcp-option-set"));
/// An address pool, or static leases only.
pub(crate) const POOL: Kind = Kind::Or(&["static-only"], &Kind::Reference("pool"));
/// RADIUS use.
pub(crate) const USE_RADIUS: Kind = Kind::Words(&["no", "yes", "accounting"]);
/// Flags of DHCP servers.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::new('D', "dynamic", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "invalid", 1),
];

const BOOT: &[Property] = &[
    with_default(
        "bootp-support",
        Kind::Words(&["none", "static", "dynamic"]),
        "static",
        "Support of BOOTP clients",
    )
    .quiet(),
    with_default(
        "bootp-lease-time",
        Kind::Or(&["lease-time", "forever"], &Kind::SPAN),
        "forever",
        "Lease time of BOOTP clients",
    )
    .quiet(),
];

const SERVING: &[Property] = &[
    with_default(
        "delay-threshold",
        NONE_OR_SPAN,
        "none",
        "Minimum time since the client's first request",
    )
    .quiet(),
    with_default(
        "server-address",
        IPV4,
        "0.0.0.0",
        "The server's address in answers",
    )
    .quiet(),
    no("add-arp", "Add an ARP entry for each client"),
    no("add-dns-entries", "Add a DNS entry for each client"),
    with_default(
        "add-dns-entries-suffix",
        Kind::Sized { min: 1, max: 64 },
        "lan",
        "Domain of the clients' DNS entries",
    ),
    with_default(
        "authoritative",
        Kind::Words(&["no", "after-10sec-delay", "after-2sec-delay", "yes"]),
        "yes",
        "Refuse requests for addresses of other networks",
    ),
    no("always-broadcast", "Broadcast all replies").quiet(),
    with_default("use-radius", USE_RADIUS, "no", "Use RADIUS"),
    with_default(
        "client-mac-limit",
        Kind::Or(&["unlimited"], &between(0, 4_294_967_295)),
        "unlimited",
        "Maximum number of leases per hardware address",
    )
    .quiet(),
    with_default(
        "conflict-detection",
        Kind::Bool,
        "yes",
        "Probe an address before it is offered",
    )
    .quiet(),
    with_default(
        "use-framed-as-classless",
        Kind::Bool,
        "yes",
        "Send routes from RADIUS as option 121",
    )
    .quiet()
    .inert(),
    no(
        "use-reconfigure",
        "Allow the server to send reconfigure messages",
    )
    .inert(),
    text(
        "lease-script",
        "Script to run when a lease is assigned or released",
    )
    .script(),
];

const QUEUES: &[Property] = &[
    optional(
        "insert-queue-before",
        QUEUE_PLACE,
        "Position of client queues",
    )
    .inert(),
    with_default("parent-queue", PARENT, "none", "Parent of client queues")
        .quiet()
        .inert(),
    with_default("dhcp-option-set", OPTION_SET, "none", "Options to send").quiet(),
    with_default(
        "address-lists",
        Kind::List(&Kind::Name),
        "",
        "Address lists for clients' addresses",
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
        "support-broadband-tr101",
        "Forward option 82 to RADIUS (TR-101)",
    )
    .inert(),
];

const SETUP: &[Argument] = &[argument(
    "interface",
    Kind::Reference("interface"),
    "Interface of the server",
)];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the server"),
            interface("Interface of the server"),
            with_default("relay", IPV4, "0.0.0.0", "Address of the relay").quiet(),
            with_default("lease-time", seconds(1, 4_294_967_295), "30m", "Lease time"),
            with_default("address-pool", POOL, "static-only", "Address pool"),
            with_default(
                "dynamic-lease-identifiers",
                Kind::Set(&["client-mac", "client-id", "opt-82"]),
                "client-mac,client-id",
                "Identification of clients",
            ),
        ],
        BOOT,
        SERVING,
        QUEUES,
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["name", "interface", "relay", "address-pool", "lease-time"],
    space: Some("dhcp-server"),
    key: Some("name"),
    kind: "dhcp",
    commands: &[command("setup", "Set up a server", SETUP)],
    ..Menu::new("/ip/dhcp-server", MenuShape::List, "DHCP server settings")
};
