//! `/ip/firewall/layer7-protocol`: patterns for stream content.

use menu::{Menu, MenuShape, Unique};

use crate::declare::{named, text};
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the pattern"),
        text("regexp", "Regular expression"),
        COMMENT,
    ]],
    columns: &["name", "regexp"],
    space: Some("layer7-protocol"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have layer7 protocol with such name",
    }],
    ..Menu::new(
        "/ip/firewall/layer7-protocol",
        MenuShape::List,
        "Layer 7 patterns",
    )
};
