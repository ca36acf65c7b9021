//! `/interface/bridge/calea`: frames that are copied for the law.

use menu::{Family, Kind, Menu, Property};

use super::matcher::{FLAGS, PACKETS, PLACES, STATS, TAGS, TAIL, TREE, head};
use crate::brief::{PORT, U32, may};
use crate::fragment::{COMMENT_DISABLED, idle_rules};
use crate::queue::COMMANDS;

const HEAD: &[Property] = &head(&["sniff", "sniff-pc"], "sniff");

const TARGET: &[Property] = &[
    may("sniff-target", Kind::Address(Family::V4), "Where copies go"),
    may("sniff-target-port", PORT, "UDP port of that"),
    may("sniff-id", U32, "Number of the case"),
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
