//! `/ip/hotspot/service-port`: connection helpers for translated clients.

use menu::{Builtin, Effect, ExportSelector, Kind, Menu, MenuShape};

use crate::declare::{DISABLED, PORT, no, shown, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Name, "Name of the helper"),
        with_default("ports", Kind::List(&PORT), "21", "Ports of the protocol"),
        no("disabled", "Defines whether item is ignored or used"),
    ]],
    flags: DISABLED,
    columns: &["name", "ports"],
    key: Some("name"),
    pick: ExportSelector::Name,
    builtin: &[Builtin {
        values: &[("name", "ftp")],
    }],
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/service-port",
        MenuShape::Fixed,
        "Service port helpers of the HotSpot",
    )
};
