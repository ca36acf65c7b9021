//! `/interface/bridge/calea`: frame copies for lawful interception.

use menu::{Family, Kind, Menu, Property, Shared};

use super::matcher::{PACKETS, PLACES, TAGS, TAIL, TREE, head};
use crate::declare::RULE_FLAGS;
use crate::declare::{PORT, U32, optional};
use crate::firewall::{STATS, chains};
use crate::fragment::{COMMENT_DISABLED, idle_rules};
use crate::queue::COMMANDS;

const CHAINS: &Shared = &chains(&["forward", "input", "output"]);
const HEAD: &[Property] = &head(CHAINS, &["sniff", "sniff-pc"], "sniff");

const TARGET: &[Property] = &[
    optional("sniff-target", Kind::Address(Family::V4), "Mirror target"),
    optional("sniff-target-port", PORT, "UDP port of the receiver"),
    optional("sniff-id", U32, "CALEA case identifier"),
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
    flags: RULE_FLAGS,
    columns: &["chain", "action"],
    stats: STATS,
    commands: COMMANDS,
    ..idle_rules(
        "/interface/bridge/calea",
        "Lawful interception of bridged frames",
    )
};
