//! `/routing/bgp/advertisements`: advertised routes.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("peer", Kind::Text, "The connection"),
        shown("dst", Kind::Text, "The network"),
        shown("afi", Kind::Text, "What is carried"),
        shown("nexthop", Kind::Text, "Where it leads"),
        shown("origin", Kind::COUNTER, "Where it comes from"),
        shown("as-path", Kind::Text, "The way"),
    ]],
    columns: &["peer", "dst", "nexthop", "as-path"],
    ..idle_rows(
        "/routing/bgp/advertisements",
        "Routes that others were told",
    )
};
