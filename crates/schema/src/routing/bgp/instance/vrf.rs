//! `/routing/bgp/instance/vrf`: VRFs of RouterOS 6.

use menu::{Kind, Menu};

use crate::declare::{no, optional, reference};
use crate::dynamic_routing::chain;
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            reference("instance", "bgp-instance", "The instance").optional(),
            optional("routing-mark", Kind::Name, "Routing mark of the VRF"),
            no("redistribute-connected", "Redistribute connected networks"),
            no("redistribute-static", "Redistribute static routes"),
            no("redistribute-rip", "Redistribute RIP routes"),
            no("redistribute-ospf", "Redistribute OSPF routes"),
            no(
                "redistribute-other-bgp",
                "Redistribute routes of other instances",
            ),
            chain("in-filter", "Filter chain for received routes"),
            chain("out-filter", "Filter chain for advertised routes"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["instance", "routing-mark"],
    older: true,
    ..idle_list(
        "/routing/bgp/instance/vrf",
        "Version 6: VRFs of BGP instances",
    )
};
