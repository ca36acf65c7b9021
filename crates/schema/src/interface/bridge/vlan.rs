//! `/interface/bridge/vlan`: VLAN membership of bridge ports.

pub(crate) mod mvrp;

use menu::{Draft, Menu, MenuShape, Property, Reason, Store, Unique};

use super::port::{PORT, names_no_built_in_list};
use super::{BRIDGE, VLANS};
use crate::declare::{list, shown};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            BRIDGE,
            Property::new("vlan-ids", VLANS, "VLAN ids and ranges").default("1"),
            list("tagged", &PORT, "Tagged ports").default(""),
            list("untagged", &PORT, "Untagged ports").default(""),
            list("mvrp-forbidden", &PORT, "Ports excluded from MVRP")
                .default("")
                .inert(),
            shown("current-tagged", menu::Kind::Text, "Current tagged ports"),
            shown(
                "current-untagged",
                menu::Kind::Text,
                "Current untagged ports",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["bridge", "vlan-ids", "current-tagged", "current-untagged"],
    distinct: &[Unique {
        properties: &["vlan-ids", "bridge"],
        failure: "vlan already added",
    }],
    check: Some(has_ports),
    ..Menu::new(
        "/interface/bridge/vlan",
        MenuShape::List,
        "Bridge VLANs and their ports",
    )
};

fn has_ports(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    names_no_built_in_list(draft, "tagged")?;
    names_no_built_in_list(draft, "untagged")
}
