//! `/routing/pimsm/uib-sg`: sources of multicast groups.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("group", Kind::Text, "The group"),
        shown("source", Kind::Text, "The sender"),
        shown("rp", Kind::Text, "Rendezvous point"),
    ]],
    columns: &["instance", "group", "source"],
    ..idle_rows("/routing/pimsm/uib-sg", "Sources of multicast groups")
};
