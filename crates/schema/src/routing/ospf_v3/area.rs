//! `/routing/ospf-v3/area`: OSPFv3 areas of RouterOS 6.

use menu::{Builtin, ExportSelector, Flag, Menu};

use crate::declare::{ipv4, named, reference, words};
use crate::fragment::{COMMENT_DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the area"),
            reference("instance", "ospf-v3-instance", "The instance").default("default"),
            ipv4("area-id", "Area ID").default("0.0.0.0"),
            words("type", &["default", "nssa", "stub"], "Type of the area").default("default"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('*', "default", 1)],
    columns: &["name", "instance", "area-id", "type"],
    space: Some("ospf-v3-area"),
    key: Some("name"),
    builtin: &[Builtin {
        values: &[("name", "backbone")],
    }],
    pick: ExportSelector::Default,
    older: true,
    ..idle_list("/routing/ospf-v3/area", "Version 6: OSPFv3 areas")
};
