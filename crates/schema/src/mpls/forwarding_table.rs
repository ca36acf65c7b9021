//! `/mpls/forwarding-table`: the label forwarding table.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("label", Kind::Text, "The label"),
        shown("vrf", Kind::Text, "The VRF"),
        shown("prefix", Kind::Text, "The network"),
        shown(
            "nexthops",
            Kind::Text,
            "Next hop of packets and their labels",
        ),
    ]],
    flags: &[
        Flag::new('L', "ldp", 0),
        Flag::new('V', "vpls", 0),
        Flag::new('T', "traffic-eng", 0),
    ],
    columns: &["label", "vrf", "prefix", "nexthops"],
    ..idle_rows("/mpls/forwarding-table", "MPLS forwarding table")
};
