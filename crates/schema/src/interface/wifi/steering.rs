//! `/interface/wifi/steering`: client steering to better access points.

pub(crate) mod neighbor_group;

use menu::{Menu, Property, Unique};

use crate::declare::named;
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::wifi::steering;

const SAID: &[Property] = steering!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "neighbor-group", "rrm", "wnm"],
    space: Some("wifi-steering"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/steering"],
    ..idle_list("/interface/wifi/steering", "Client steering profiles")
};
