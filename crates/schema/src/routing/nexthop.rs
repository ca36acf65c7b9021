//! `/routing/nexthop`: next hops.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("address", Kind::Text, "Address of the next hop"),
        shown("interface", Kind::Text, "The interface"),
        shown("scope", Kind::COUNTER, "Scope"),
        shown("check-gateway", Kind::Text, "Monitoring of the next hop"),
        shown("hash", Kind::Text, "Identifier of the next hop"),
    ]],
    columns: &["address", "interface", "scope"],
    ..idle_rows("/routing/nexthop", "Next hops of routes")
};
