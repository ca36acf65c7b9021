//! `/interface/bridge/filter`: which frames bridges forward.

use menu::{Menu, Property};

use super::matcher::{CHANGES, FLAGS, PACKETS, PLACES, STATS, TAGS, TAIL, TREE, head};
use crate::fragment::{COMMENT_DISABLED, idle_rules};
use crate::queue::COMMANDS;

const HEAD: &[Property] = &head(
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

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
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
    ..idle_rules("/interface/bridge/filter", "Filters of bridges")
};
