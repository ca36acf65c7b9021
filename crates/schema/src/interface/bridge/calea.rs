//! `/interface/bridge/calea`: frames that are copied for the law.

use menu::{Family, Kind, Menu, Property};

use super::matcher::{FLAGS, PACKETS, PLACES, STATS, TAGS, TAIL, TREE, head};
use crate::declare::{PORT, U32, optional};
use crate::fragment::{COMMENT_DISABLED, idle_rules};
use crate::queue::COMMANDS;

const HEAD: &[Property] = &head(&["sniff", "sniff-pc"], "sniff");

const TARGET: &[Property] = &[
    optional("sniff-target", Kind::Address(Family::V4), "Where copies go"),
    optional("sniff-target-port", PORT, "UDP port of that"),
    optional("sniff-id", U32, "Number of the case"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
        TARGET,
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
    ..idle_rules(
        "/interface/bridge/calea",
        "Copies of bridged frames for the law",
    )
};
