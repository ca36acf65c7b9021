//! `/routing/rip/static-neighbor`: neighbours that do not hear multicast.

use menu::Menu;

use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::terms::{address, refer};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            address("address", "Address of the neighbour").required(),
            refer("instance", "rip-instance", "The instance").required(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["address", "instance"],
    ..idle_list(
        "/routing/rip/static-neighbor",
        "Neighbours of RIP by address",
    )
};
