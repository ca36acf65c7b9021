//! `/routing/rip/static-neighbor`: static neighbours on networks without multicast.

use menu::Menu;

use crate::declare::{address, reference};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            address("address", "Address of the neighbour").required(),
            reference("instance", "rip-instance", "The instance").required(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["address", "instance"],
    ..idle_list("/routing/rip/static-neighbor", "Configured RIP neighbours")
};
