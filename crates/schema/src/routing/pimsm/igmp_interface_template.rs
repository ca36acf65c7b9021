//! `/routing/pimsm/igmp-interface-template`: IGMP querier interfaces.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("interfaces", Kind::Text, "The interfaces"),
    ]],
    columns: &["instance", "interfaces"],
    ..idle_rows(
        "/routing/pimsm/igmp-interface-template",
        "Interfaces on which IGMP queries are sent",
    )
};
