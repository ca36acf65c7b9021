//! `/ipv6/dhcp-server/binding`: who has which prefix or address.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

use super::OPTIONS;
use crate::brief::{IPV6, U32, may, on_items, read, some, text, with};
use crate::fragment::COMMENT_DISABLED;
use crate::ip::dhcp_server::{PARENT, QUEUE_PLACE};

const CLIENT: &[Property] = &[
    may("address", Kind::Prefix(Family::V6), "The prefix or address"),
    some("duid", Kind::Filled, "What names the client").required(),
    some("iaid", U32, "Number of the request").required(),
    with(
        "ia-type",
        Kind::Words(&["na", "pd"]),
        "pd",
        "Whether it is an address or a prefix",
    ),
    with(
        "server",
        Kind::Or(&["all"], &Kind::Reference("dhcp6-server")),
        "all",
        "The server",
    ),
    with("life-time", Kind::SPAN, "3d", "How long the binding holds"),
    may(
        "prefix-pool",
        Kind::Name,
        "The pool that the prefix comes from",
    ),
    with("dhcp-option", OPTIONS, "", "Options to send"),
    text("rate-limit", "Limit of the client's rate"),
    with(
        "allow-dual-stack-queue",
        Kind::Bool,
        "yes",
        "Whether one queue serves both families",
    ),
    with(
        "address-lists",
        Kind::List(&Kind::Name),
        "",
        "Lists that the prefix is added to",
    ),
    may(
        "insert-queue-before",
        QUEUE_PLACE,
        "Where the client's queue is put",
    ),
    may("parent-queue", PARENT, "The queue above the client's"),
    may("queue-type", Kind::Name, "The type of the client's queue"),
];

const STATE: &[Property] = &[
    read("active-server", Kind::Text, "The server that gave it"),
    read("status", Kind::Text, "State of the binding"),
    read("expires-after", Kind::SPAN, "How long it still holds"),
    read("last-seen", Kind::SPAN, "When the client was last heard"),
    read("client-address", IPV6, "The client"),
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
        on_items("make-static", "Make a binding one of the configuration"),
        on_items("send-reconfigure", "Tell the client to renew"),
    ],
    effect: Effect::None,
    ..Menu::new("/ipv6/dhcp-server/binding", Shape::List, "DHCPv6 bindings")
};
