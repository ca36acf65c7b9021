//! `/interface/wifi/interworking`: interworking profiles (IEEE 802.11u).

use menu::{Menu, Property, Unique};

use crate::declare::named;
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::interworking::interworking;

const SAID: &[Property] = interworking!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "network-type", "internet"],
    space: Some("wifi-interworking"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/interworking"],
    ..idle_list(
        "/interface/wifi/interworking",
        "Interworking profiles (IEEE 802.11u)",
    )
};
