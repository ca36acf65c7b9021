//! `/interface/wifi/datapath`: datapath profiles, which define how client traffic is forwarded.

use menu::{Menu, Property, Unique};

use crate::declare::named;
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::wifi::datapath;

const SAID: &[Property] = datapath!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "bridge", "vlan-id"],
    space: Some("wifi-datapath"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/datapath"],
    ..idle_list("/interface/wifi/datapath", "Datapath profiles")
};
