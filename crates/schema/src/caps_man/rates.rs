//! `/caps-man/rates`: rate profiles for CAPs.

use menu::{Menu, Property, Unique};

use crate::capsman::rates;
use crate::declare::named;
use crate::fragment::{COMMENT, idle_list};

const SAID: &[Property] = rates!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], SAID, &[COMMENT]],
    columns: &["name"],
    space: Some("capsman-rates"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    ..idle_list("/caps-man/rates", "Rate profiles for CAPs")
};
