//! `/caps-man/channel`: channel profiles for CAPs.

use menu::{Menu, Property, Unique};

use crate::capsman::channel;
use crate::declare::named;
use crate::fragment::{COMMENT, idle_list};

const SAID: &[Property] = channel!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, &[COMMENT]],
    columns: &["name", "frequency", "band"],
    space: Some("capsman-channel"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    ..idle_list("/caps-man/channel", "Channel profiles for CAPs")
};
