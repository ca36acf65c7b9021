//! `/routing/rip/interface-template`: RIP interface templates.

use menu::{Family, Kind, Menu};

use crate::declare::{between, list, maybe, optional, reference};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

const MODES: Kind = Kind::Words(&["passive", "strict"]);
const KEY: Kind = Kind::Sized { min: 0, max: 16 };

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("interfaces", &INTERFACES, "The interfaces").optional(),
            reference("instance", "rip-instance", "The instance").required(),
            optional("cost", between(1, 16), "Cost of the interfaces"),
            optional("key-chain", Kind::Name, "Keys"),
            optional("password", KEY, "Authentication password").sensitive(),
            optional("mode", Kind::List(&MODES), "Mode of the interfaces"),
            maybe("poison-reverse", "Use poison reverse"),
            maybe("split-horizon", "Use split horizon"),
            list(
                "source-addresses",
                &Kind::Address(Family::Any),
                "Local addresses",
            )
            .optional(),
            maybe("use-bfd", "Monitor neighbours by BFD"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["interfaces", "instance", "cost"],
    ..idle_list("/routing/rip/interface-template", "RIP interface templates")
};
