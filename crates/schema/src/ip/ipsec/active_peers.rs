//! `/ip/ipsec/active-peers`: peers that keys are shared with.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use super::ADDRESS;
use crate::brief::{command, count, on_items, read};

const PEER: &[Property] = &[
    read("id", Kind::Text, "What the peer calls itself"),
    read("local-address", ADDRESS, "This router's address"),
    count("port", "The peer's port"),
    read("remote-address", ADDRESS, "The peer's address"),
    read("state", Kind::Text, "How far the exchange has come"),
    read(
        "side",
        Kind::Words(&["initiator", "responder"]),
        "Who began",
    ),
    read(
        "dynamic-address",
        Kind::Text,
        "The address that the peer was given",
    ),
    read("uptime", Kind::SPAN, "How long the peer is there"),
    read("last-seen", Kind::SPAN, "When the peer was last heard"),
    count("ph2-total", "Pairs of keys in use"),
    read("spii", Kind::Text, "Number of the exchange, of who began"),
    read("spir", Kind::Text, "Number of the exchange, of the other"),
    count("rx-packets", "Packets from the peer"),
    count("rx-bytes", "Bytes from the peer"),
    count("tx-packets", "Packets to the peer"),
    count("tx-bytes", "Bytes to the peer"),
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
    effect: Effect::None,
    old_paths: &["/ip/ipsec/remote-peers"],
    ..Menu::new(
        "/ip/ipsec/active-peers",
        Shape::Rows,
        "Peers that keys are shared with",
    )
};
