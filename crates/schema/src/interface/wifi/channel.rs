//! `/interface/wifi/channel`: channel profiles.

use menu::{Menu, Property, Unique};

use crate::declare::named;
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::wifi::channel;

const SAID: &[Property] = channel!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "frequency", "band", "width"],
    space: Some("wifi-channel"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/channel"],
    ..idle_list("/interface/wifi/channel", "Channel profiles")
};
