//! `/ip/dhcp-server/lease`: leases.

use menu::{Flag, Kind, Menu, MenuShape, Property, Unique};

use super::{OPTION_SET, OPTIONS, PARENT, QUEUE_PLACE};
use crate::declare::{IPV4, no, on_items, optional, property, shown, text, with_default};
use crate::fragment::COMMENT_DISABLED;
use crate::rate_limit;

/// Positions other than first and bottom (before a named queue) have no effect.
fn is_named_place(place: &str) -> bool {
    !matches!(place, "" | "bottom" | "first")
}

const CLIENT: &[Property] = &[
    property(
        "address",
        Kind::Either(&IPV4, &Kind::Reference("pool")),
        "Address, or pool of the address",
    ),
    optional("mac-address", Kind::Mac, "The client's hardware address"),
    no(
        "use-src-mac",
        "Identify the client by the frame's source MAC address",
    ),
    text("client-id", "Identifier of the client"),
    text("rate-limit", "Rate limit of the client"),
    text("routes", "Routes to the client's networks").inert(),
    optional(
        "insert-queue-before",
        QUEUE_PLACE,
        "Position of the client's queue",
    )
    .inert_for(is_named_place),
    optional("parent-queue", PARENT, "Parent of the client's queue"),
    optional("queue-type", Kind::Name, "Queue type of the client's queue"),
    with_default(
        "address-lists",
        Kind::List(&Kind::Name),
        "",
        "Address lists for the address",
    ),
    with_default(
        "server",
        Kind::Or(&["all"], &Kind::Reference("dhcp-server")),
        "all",
        "DHCP server of the lease",
    )
    .quiet(),
    no("block-access", "Refuse an address to the client"),
    optional(
        "allow-dual-stack-queue",
        Kind::Bool,
        "Use one queue for IPv4 and IPv6",
    )
    .inert(),
    with_default(
        "lease-time",
        Kind::SPAN,
        "0s",
        "Lease time; 0: lease time of the server",
    )
    .quiet(),
    optional(
        "always-broadcast",
        Kind::Bool,
        "Whether all answers are broadcast",
    ),
    with_default("dhcp-option", OPTIONS, "", "Options to send"),
    optional("dhcp-option-set", OPTION_SET, "Set of options to send"),
    with_default(
        "agent-circuit-id",
        Kind::Digits,
        "",
        "Circuit identifier set by the relay",
    ),
    with_default(
        "agent-remote-id",
        Kind::Digits,
        "",
        "Remote identifier set by the relay",
    ),
];

const STATUS: &[&str] = &[
    "authorizing",
    "bound",
    "conflict",
    "declined",
    "offered",
    "testing",
    "waiting",
];

const STATE: &[Property] = &[
    shown("status", Kind::Words(STATUS), "State of the lease"),
    shown("expires-after", Kind::SPAN, "Remaining lease time"),
    shown(
        "last-seen",
        Kind::SPAN,
        "Time since the client's last message",
    ),
    shown("age", Kind::SPAN, "Age of the lease"),
    shown("active-address", IPV4, "Current address"),
    shown("active-mac-address", Kind::Mac, "Current MAC address"),
    shown(
        "active-client-id",
        Kind::Text,
        "Current identifier of the client",
    ),
    shown(
        "active-server",
        Kind::Text,
        "Server that assigned the lease",
    ),
    shown(
        "active-agent-circuit-id",
        Kind::Text,
        "Current circuit identifier",
    ),
    shown(
        "active-agent-remote-id",
        Kind::Text,
        "Current remote identifier",
    ),
    shown("host-name", Kind::Text, "Host name of the client"),
    shown("class-id", Kind::Text, "Vendor class of the client"),
    shown(
        "src-mac-address",
        Kind::Mac,
        "Source MAC address of the client's frames",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[CLIENT, STATE, COMMENT_DISABLED],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('R', "radius", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('B', "blocked", 0),
    ],
    columns: &[
        "address",
        "mac-address",
        "host-name",
        "server",
        "status",
        "last-seen",
    ],
    commands: &[
        on_items("check-status", "Check whether the client answers"),
        on_items("make-static", "Make a dynamic lease static"),
        on_items(
            "send-reconfigure",
            "Send a reconfigure message to the client",
        ),
    ],
    check: Some(rate_limit::check),
    distinct: &[
        Unique {
            properties: &["mac-address", "server"],
            failure: "already have static lease for this client",
        },
        Unique {
            properties: &["address"],
            failure: "already have static lease with this IP address",
        },
    ],
    ..Menu::new("/ip/dhcp-server/lease", MenuShape::List, "DHCP leases")
};
