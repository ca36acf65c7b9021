//! `/routing/rip/neighbor`: RIP neighbours; RouterOS 6 also configured static neighbours here.

use menu::{Kind, Menu};

use crate::declare::{address, shown};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            address("address", "Address of the neighbour").required(),
            shown("instance", Kind::Text, "The instance"),
            shown("routes", Kind::COUNTER, "Received routes"),
            shown("packets-total", Kind::COUNTER, "Received messages"),
            shown("packets-bad", Kind::COUNTER, "Invalid messages"),
            shown("last-update", Kind::SPAN, "Time of the last message"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["address", "routes", "last-update"],
    ..idle_list("/routing/rip/neighbor", "RIP neighbours")
};
