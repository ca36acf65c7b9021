//! `/ip/hotspot/host`: all hosts on the interfaces of guests.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use super::ip_binding::TYPES;
use crate::brief::{IPV4, argument, command, count, on_items, read};
use crate::interface::NUMBERS;

const HOST: &[Property] = &[
    read("mac-address", Kind::Mac, "The host's hardware address"),
    read("address", IPV4, "The host's address"),
    read("to-address", IPV4, "What the address is translated to"),
    read("server", Kind::Text, "The server"),
    read("uptime", Kind::SPAN, "How long the host is there"),
    read("idle-time", Kind::SPAN, "How long the host is silent"),
    read(
        "idle-timeout",
        Kind::SPAN,
        "How long the host may be silent",
    ),
    read(
        "keepalive-timeout",
        Kind::SPAN,
        "How long the host may be out of reach",
    ),
    read(
        "host-dead-time",
        Kind::SPAN,
        "How long the host is out of reach",
    ),
    read("bridge-port", Kind::Text, "The port that the host is on"),
    count("vlan-id", "The VLAN that the host is in"),
    read("http-proxy", Kind::Text, "The proxy that the host asks for"),
    count("bytes-in", "Bytes from the host"),
    count("bytes-out", "Bytes to the host"),
    count("packets-in", "Packets from the host"),
    count("packets-out", "Packets to the host"),
    read("found-by", Kind::Text, "What made the host known"),
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
            "Make bindings of hosts",
            &[
                NUMBERS,
                argument("type", TYPES, "What the host may do"),
                argument("comment", Kind::COMMENT, "Short description of the item"),
            ],
        ),
        on_items("remove", "Forget hosts"),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/host",
        Shape::Rows,
        "Hosts on the interfaces of guests",
    )
};
