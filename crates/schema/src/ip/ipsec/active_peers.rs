//! `/ip/ipsec/active-peers`: established IKE sessions.

use menu::{Flag, Kind, Menu, Property, Shape};

use super::ADDRESS;
use crate::declare::{command, counter, on_items, shown};

const PEER: &[Property] = &[
    shown("id", Kind::Text, "What the peer calls itself"),
    shown("local-address", ADDRESS, "This router's address"),
    counter("port", "The peer's port"),
    shown("remote-address", ADDRESS, "The peer's address"),
    shown("state", Kind::Text, "How far the exchange has come"),
    shown(
        "side",
        Kind::Words(&["initiator", "responder"]),
        "Who began",
    ),
    shown(
        "dynamic-address",
        Kind::Text,
        "The address that the peer was given",
    ),
    shown("uptime", Kind::SPAN, "How long the peer is there"),
    shown("last-seen", Kind::SPAN, "When the peer was last heard"),
    counter("ph2-total", "Pairs of keys in use"),
    shown("spii", Kind::Text, "Number of the exchange, of who began"),
    shown("spir", Kind::Text, "Number of the exchange, of the other"),
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
        command("kill-connections", "Forget all peers", &[]),
        on_items("remove", "Forget peers"),
    ],
    old_paths: &["/ip/ipsec/remote-peers"],
    ..Menu::new(
        "/ip/ipsec/active-peers",
        Shape::Rows,
        "Peers that keys are shared with",
    )
};
