//! `/ip/hotspot/host`: all hosts on hotspot interfaces.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use super::ip_binding::TYPES;
use crate::declare::{IPV4, argument, command, counter, on_items, shown};
use crate::interface::NUMBERS;

const HOST: &[Property] = &[
    shown("mac-address", Kind::Mac, "The host's hardware address"),
    shown("address", IPV4, "The host's address"),
    shown("to-address", IPV4, "Address after translation"),
    shown("server", Kind::Text, "The server"),
    shown("uptime", Kind::SPAN, "Time since the host appeared"),
    shown("idle-time", Kind::SPAN, "Idle time of the host"),
    shown("idle-timeout", Kind::SPAN, "Idle timeout"),
    shown("keepalive-timeout", Kind::SPAN, "Keepalive timeout"),
    shown(
        "host-dead-time",
        Kind::SPAN,
        "Time since the host last answered",
    ),
    shown("bridge-port", Kind::Text, "Bridge port of the host"),
    counter("vlan-id", "VLAN of the host"),
    shown(
        "http-proxy",
        Kind::Text,
        "HTTP proxy configured on the host",
    ),
    counter("bytes-in", "Bytes from the host"),
    counter("bytes-out", "Bytes to the host"),
    counter("packets-in", "Packets from the host"),
    counter("packets-out", "Packets to the host"),
    shown(
        "found-by",
        Kind::Text,
        "Traffic by which the host was found",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[HOST],
    flags: &[
        Flag::new('S', "static", 0),
        Flag::new('H', "DHCP", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('A', "authorized", 1),
        Flag::new('P', "bypassed", 1),
    ],
    columns: &[
        "mac-address",
        "address",
        "to-address",
        "server",
        "idle-timeout",
    ],
    commands: &[
        command(
            "make-binding",
            "Create IP bindings from hosts",
            &[
                NUMBERS,
                argument("type", TYPES, "Type of the binding"),
                argument("comment", Kind::COMMENT, "Short description of the item"),
            ],
        ),
        on_items("remove", "Remove hosts"),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/host",
        MenuShape::Rows,
        "Hosts on HotSpot interfaces",
    )
};
