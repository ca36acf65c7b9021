//! `/ip/dhcp-server/lease`: who has which address.

use menu::{Effect, Flag, Kind, Menu, Property, Shape, Unique};

use super::{OPTION_SET, OPTIONS, PARENT, QUEUE_PLACE};
use crate::brief::{IPV4, may, no, on_items, read, some, text, with};
use crate::fragment::COMMENT_DISABLED;

const CLIENT: &[Property] = &[
    some(
        "address",
        Kind::Either(&IPV4, &Kind::Reference("pool")),
        "The address, or the pool that it comes from",
    ),
    may("mac-address", Kind::Mac, "The client's hardware address"),
    no(
        "use-src-mac",
        "Whether the frame's source is the client's address",
    ),
    text("client-id", "What the client calls itself"),
    text("rate-limit", "Limit of the client's rate"),
    text("routes", "Routes to the client's networks"),
    may(
        "insert-queue-before",
        QUEUE_PLACE,
        "Where the client's queue is put",
    ),
    may("parent-queue", PARENT, "The queue above the client's"),
    may("queue-type", Kind::Name, "The type of the client's queue"),
    with(
        "address-lists",
        Kind::List(&Kind::Name),
        "",
        "Lists that the address is added to",
    ),
    with(
        "server",
        Kind::Or(&["all"], &Kind::Reference("dhcp-server")),
        "all",
        "The server of the lease",
    )
    .quiet(),
    no("block-access", "Whether the client gets no address"),
    may(
        "allow-dual-stack-queue",
        Kind::Bool,
        "Whether one queue serves both families",
    ),
    with(
        "lease-time",
        Kind::SPAN,
        "0s",
        "How long the lease holds; 0 is as the server says",
    )
    .quiet(),
    may(
        "always-broadcast",
        Kind::Bool,
        "Whether all answers are broadcast",
    ),
    with("dhcp-option", OPTIONS, "", "Options to send"),
    may("dhcp-option-set", OPTION_SET, "Set of options to send"),
    with(
        "agent-circuit-id",
        Kind::Digits,
        "",
        "The circuit of the relay that the client is on",
    ),
    with(
        "agent-remote-id",
        Kind::Digits,
        "",
        "The relay that the client is on",
    ),
];

const STATE: &[Property] = &[
    read("status", Kind::Text, "State of the lease"),
    read(
        "expires-after",
        Kind::SPAN,
        "How long the lease still holds",
    ),
    read("last-seen", Kind::SPAN, "When the client was last heard"),
    read("age", Kind::SPAN, "How long the lease is there"),
    read("active-address", IPV4, "The address in use"),
    read(
        "active-mac-address",
        Kind::Mac,
        "The hardware address in use",
    ),
    read(
        "active-client-id",
        Kind::Text,
        "What the client calls itself now",
    ),
    read(
        "active-server",
        Kind::Text,
        "The server that gave the lease",
    ),
    read(
        "active-agent-circuit-id",
        Kind::Text,
        "The circuit that the client is on now",
    ),
    read(
        "active-agent-remote-id",
        Kind::Text,
        "The relay that the client is on now",
    ),
    read("host-name", Kind::Text, "The client's name"),
    read("class-id", Kind::Text, "The client's class"),
    read(
        "src-mac-address",
        Kind::Mac,
        "The source of the client's frames",
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
        on_items("check-status", "Check whether the client is there"),
        on_items("make-static", "Make a lease one of the configuration"),
        on_items("send-reconfigure", "Tell the client to renew"),
    ],
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
    effect: Effect::None,
    ..Menu::new("/ip/dhcp-server/lease", Shape::List, "DHCP leases")
};
