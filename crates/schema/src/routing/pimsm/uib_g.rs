//! `/routing/pimsm/uib-g`: multicast groups.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("group", Kind::Text, "The group"),
        shown("rp", Kind::Text, "Rendezvous point"),
    ]],
    columns: &["instance", "group", "rp"],
    ..idle_rows("/routing/pimsm/uib-g", "Multicast groups")
};
