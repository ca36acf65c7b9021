//! `/routing/ospf/neighbor`: OSPF neighbours.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("area", Kind::Text, "The area"),
        shown("address", Kind::Text, "Address of the neighbour"),
        shown("interface", Kind::Text, "The interface"),
        shown("priority", Kind::COUNTER, "Priority of the neighbour"),
        shown("router-id", Kind::Text, "Router ID of the neighbour"),
        shown("state", Kind::Text, "State"),
        shown(
            "adjacency",
            Kind::SPAN,
            "Time since the adjacency was formed",
        ),
        shown("timeout", Kind::SPAN, "Time until the neighbour expires"),
        shown("comment", Kind::Text, "Summary of the neighbour"),
    ]],
    flags: &[Flag::new('V', "virtual", 0), Flag::new('D', "dynamic", 1)],
    columns: &[
        "instance",
        "area",
        "address",
        "priority",
        "router-id",
        "state",
    ],
    ..idle_rows("/routing/ospf/neighbor", "OSPF neighbours")
};
