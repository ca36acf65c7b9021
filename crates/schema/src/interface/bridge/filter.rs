//! `/interface/bridge/filter`: filter rules for bridged frames.

use menu::{Menu, Property, Shared};

use super::matcher::{CHANGES, PACKETS, PLACES, TAGS, TAIL, TREE, head, jump, table};
use crate::firewall::chains;
use crate::fragment::COMMENT_DISABLED;

const CHAINS: &Shared = &chains(&["forward", "input", "output"]);

const HEAD: &[Property] = &head(
    CHAINS,
    &[
        "accept",
        "drop",
        "jump",
        "log",
        "mark-packet",
        "passthrough",
        "return",
        "set-priority",
    ],
    "accept",
);

const JUMP: &[Property] = &[jump(CHAINS)];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
        JUMP,
        CHANGES,
        PLACES,
        PACKETS,
        TAGS,
        TREE,
        TAIL,
        COMMENT_DISABLED,
    ],
    ..table("/interface/bridge/filter", "Filters of bridges")
};
