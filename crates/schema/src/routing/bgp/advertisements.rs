//! `/routing/bgp/advertisements`: advertised routes.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("peer", Kind::Text, "The connection"),
        shown("dst", Kind::Text, "The network"),
        shown("afi", Kind::Text, "Address family"),
        shown("nexthop", Kind::Text, "Next hop"),
        shown("origin", Kind::COUNTER, "Origin"),
        shown("as-path", Kind::Text, "AS path"),
    ]],
    columns: &["peer", "dst", "nexthop", "as-path"],
    ..idle_rows("/routing/bgp/advertisements", "Advertised routes")
};
