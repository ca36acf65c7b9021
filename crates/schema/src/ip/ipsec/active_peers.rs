//! `/ip/ipsec/active-peers`: established IKE sessions.

use menu::{Flag, Kind, Menu, MenuShape, Property};

use super::ADDRESS;
use crate::declare::{command, counter, on_items, shown};

const PEER: &[Property] = &[
    shown("id", Kind::Text, "Identity of the peer"),
    shown("local-address", ADDRESS, "This router's address"),
    counter("port", "The peer's port"),
    shown("remote-address", ADDRESS, "The peer's address"),
    shown("state", Kind::Text, "State of the exchange"),
    shown(
        "side",
        Kind::Words(&["initiator", "responder"]),
        "Side that began the exchange",
    ),
    shown(
        "dynamic-address",
        Kind::Text,
        "Address assigned to the peer",
    ),
    shown("uptime", Kind::SPAN, "Time since the peer connected"),
    shown("last-seen", Kind::SPAN, "Time since the last message"),
    counter("ph2-total", "Number of phase 2 SA pairs"),
    shown("spii", Kind::Text, "SPI of the initiator"),
    shown("spir", Kind::Text, "SPI of the responder"),
    counter("rx-packets", "Packets from the peer"),
    counter("rx-bytes", "Bytes from the peer"),
    counter("tx-packets", "Packets to the peer"),
    counter("tx-bytes", "Bytes to the peer"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[PEER],
    flags: &[
        Flag::new('R', "responder", 0),
        Flag::new('N', "natt-peer", 1),
        Flag::new('P', "ppk", 2),
    ],
    columns: &[
        "id",
        "state",
        "uptime",
        "ph2-total",
        "remote-address",
        "dynamic-address",
    ],
    commands: &[
        command("kill-connections", "Disconnect all peers", &[]),
        on_items("remove", "Disconnect peers"),
    ],
    old_paths: &["/ip/ipsec/remote-peers"],
    ..Menu::new(
        "/ip/ipsec/active-peers",
        MenuShape::Rows,
        "Peers with an established key exchange",
    )
};
