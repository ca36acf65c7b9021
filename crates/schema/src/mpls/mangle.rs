//! `/mpls/mangle`: marks by priority of labelled packets.

use menu::{Kind, Menu};

use crate::brief::{may, number};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::queue::COMMANDS;
use crate::terms::list;

const CHAINS: Kind = Kind::Words(&["forward", "output"]);
const PRIORITY: Kind = number(0, 7);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("chain", &CHAINS, "Where packets are looked at").optional(),
            list("exp", &PRIORITY, "Their priorities").optional(),
            may("set-exp", PRIORITY, "New priority"),
            may("set-mark", Kind::Name, "New mark"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["chain", "exp", "set-mark"],
    commands: COMMANDS,
    ..idle_list("/mpls/mangle", "Marks of labelled packets")
};
