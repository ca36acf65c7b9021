//! `/interface/wifi/security`: security profiles.

pub(crate) mod multi_passphrase;

use menu::{Menu, Property, Unique};

use crate::declare::named;
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::wifi::security;

const SAID: &[Property] = security!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "authentication-types", "encryption"],
    space: Some("wifi-security"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/security"],
    ..idle_list("/interface/wifi/security", "Security profiles")
};
