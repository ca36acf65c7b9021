//! `/mpls/mangle`: packet marks by EXP bits.

use menu::{Kind, Menu};

use crate::declare::{between, list, optional};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::queue::COMMANDS;

const CHAINS: Kind = Kind::Words(&["forward", "output"]);
const PRIORITY: Kind = between(0, 7);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("chain", &CHAINS, "Chain in which packets are matched").optional(),
            list("exp", &PRIORITY, "EXP bits to match").optional(),
            optional("set-exp", PRIORITY, "New EXP bits"),
            optional("set-mark", Kind::Name, "New packet mark"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["chain", "exp", "set-mark"],
    commands: COMMANDS,
    ..idle_list("/mpls/mangle", "Marking of labelled packets")
};
