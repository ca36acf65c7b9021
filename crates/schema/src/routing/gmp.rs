//! `/routing/gmp`: multicast groups that the router joins.

use menu::{Family, Kind, Menu};

use crate::declare::{list, maybe};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};

const ADDRESS: Kind = Kind::Address(Family::Any);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("interfaces", &INTERFACES, "Interfaces").optional(),
            list("groups", &ADDRESS, "Groups").optional(),
            list("sources", &ADDRESS, "Senders").optional(),
            maybe("exclude", "Exclude the listed sources"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["interfaces", "groups", "sources"],
    ..idle_list("/routing/gmp", "Multicast groups joined by the router")
};
