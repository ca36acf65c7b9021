//! `/ip/vrf`: virtual routing and forwarding: interfaces with a separate routing table.

use menu::{Effect, Flag, Kind, Menu, MenuShape, OldProperty};

use crate::declare::{INTERFACE, INTERFACE_LIST, named, with_default};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the VRF and of its routing table"),
            with_default(
                "interfaces",
                Kind::List(&Kind::Or(
                    &["none"],
                    &Kind::Either(&INTERFACE, &INTERFACE_LIST),
                )),
                "none",
                "The interfaces",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('*', "builtin", 1)],
    columns: &["name", "interfaces"],
    space: Some("routing-table"),
    key: Some("name"),
    old: &[
        OldProperty::renamed("routing-mark", "name"),
        OldProperty::gone("export-route-targets"),
        OldProperty::gone("import-route-targets"),
        OldProperty::gone("route-distinguisher"),
    ],
    old_paths: &["/ip/route/vrf"],
    effect: Effect::None,
    // Exported after all interfaces, including those of PPP.
    ..Menu::new(
        "/ip/vrf",
        MenuShape::Ordered,
        "Virtual routing and forwarding (VRF) instances",
    )
};
