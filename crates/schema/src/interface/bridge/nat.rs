//! `/interface/bridge/nat`: translation of MAC addresses by bridges.

use menu::{Kind, Menu, Property, Shared};

use super::matcher::{CHANGES, PACKETS, PLACES, TAGS, TAIL, TREE, head, jump, table};
use crate::declare::optional;
use crate::firewall::chains;
use crate::fragment::COMMENT_DISABLED;

const CHAINS: &Shared = &chains(&["dstnat", "srcnat"]);

const HEAD: &[Property] = &head(
    CHAINS,
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
        "MAC address for ARP replies",
    ),
    optional("to-src-mac-address", Kind::Mac, "New source MAC address"),
    optional(
        "to-dst-mac-address",
        Kind::Mac,
        "New destination MAC address",
    ),
];

const JUMP: &[Property] = &[jump(CHAINS)];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
        JUMP,
        ADDRESSES,
        CHANGES,
        PLACES,
        PACKETS,
        TAGS,
        TREE,
        TAIL,
        COMMENT_DISABLED,
    ],
    ..table("/interface/bridge/nat", "Address translation of bridges")
};
