//! `/routing/rip/neighbor`: RIP neighbours; RouterOS 6 also configured static neighbours here.

use menu::{Kind, Menu};

use crate::declare::{address, shown};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            address("address", "Address of the neighbour").required(),
            shown("instance", Kind::Text, "The instance"),
            shown("routes", Kind::COUNTER, "Routes that came"),
            shown("packets-total", Kind::COUNTER, "Messages that came"),
            shown(
                "packets-bad",
                Kind::COUNTER,
                "Messages that could not be read",
            ),
            shown("last-update", Kind::SPAN, "When it was last heard"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["address", "routes", "last-update"],
    ..idle_list("/routing/rip/neighbor", "Neighbours of RIP")
};
