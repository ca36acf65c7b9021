//! `/interface/bridge/nat`: hardware addresses that bridges change.

use menu::{Kind, Menu, Property};

use super::matcher::{CHANGES, FLAGS, PACKETS, PLACES, STATS, TAGS, TAIL, TREE, head};
use crate::declare::optional;
use crate::fragment::{COMMENT_DISABLED, idle_rules};
use crate::queue::COMMANDS;

const HEAD: &[Property] = &head(
    &[
        "accept",
        "arp-reply",
        "drop",
        "dst-nat",
        "jump",
        "log",
        "mark-packet",
        "passthrough",
        "redirect",
        "return",
        "set-priority",
        "src-nat",
    ],
    "accept",
);

const ADDRESSES: &[Property] = &[
    optional(
        "to-arp-reply-mac-address",
        Kind::Mac,
        "Address that ARP is answered with",
    ),
    optional("to-src-mac-address", Kind::Mac, "New address of the sender"),
    optional(
        "to-dst-mac-address",
        Kind::Mac,
        "New address of the receiver",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
        ADDRESSES,
        CHANGES,
        PLACES,
        PACKETS,
        TAGS,
        TREE,
        TAIL,
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["chain", "action"],
    stats: STATS,
    commands: COMMANDS,
    ..idle_rules("/interface/bridge/nat", "Address translation of bridges")
};
