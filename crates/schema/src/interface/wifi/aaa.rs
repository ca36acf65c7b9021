//! `/interface/wifi/aaa`: RADIUS attributes for wireless clients.

use menu::{Menu, Property, Unique};

use crate::declare::named;
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::wifi::aaa;

const SAID: &[Property] = aaa!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "called-format", "interim-update"],
    space: Some("wifi-aaa"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/aaa"],
    ..idle_list("/interface/wifi/aaa", "AAA profiles")
};
