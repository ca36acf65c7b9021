//! `/interface/wifi/steering/neighbor-group`: access points announced to clients.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the group"),
        shown("ssid", Kind::Text, "Name of the network"),
        shown("members", Kind::Text, "Access points of the group"),
        shown("comment", Kind::Text, "Short description of the group"),
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["name", "members"],
    ..idle_rows(
        "/interface/wifi/steering/neighbor-group",
        "Groups of neighbouring access points",
    )
};
