//! `/caps-man/security`: security profiles for CAPs.

use menu::{Menu, Property, Unique};

use crate::capsman::security;
use crate::declare::named;
use crate::fragment::{COMMENT, idle_list};

const SAID: &[Property] = security!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, &[COMMENT]],
    columns: &["name", "authentication-types"],
    space: Some("capsman-security"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    ..idle_list("/caps-man/security", "Security profiles for CAPs")
};
