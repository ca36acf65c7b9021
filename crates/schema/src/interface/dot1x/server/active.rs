//! `/interface/dot1x/server/active`: authenticated devices.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The port"),
        shown("client-mac", Kind::Mac, "MAC address of the client"),
        shown("username", Kind::Text, "Name of the user"),
        shown("vlan-id", Kind::COUNTER, "VLAN of the user"),
        shown("status", Kind::Text, "Port status"),
    ]],
    columns: &["interface", "client-mac", "username", "vlan-id"],
    ..idle_rows("/interface/dot1x/server/active", "Authenticated clients")
};
