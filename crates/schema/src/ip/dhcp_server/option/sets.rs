//! `/ip/dhcp-server/option/sets`: option sets.

use menu::{Menu, MenuShape};

use crate::declare::{named, with_default};
use crate::fragment::COMMENT;
use crate::ip::dhcp_server::OPTIONS;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the set"),
        with_default("options", OPTIONS, "", "The options"),
        COMMENT,
    ]],
    columns: &["name", "options"],
    space: Some("dhcp-option-set"),
    key: Some("name"),
    ..Menu::new(
        "/ip/dhcp-server/option/sets",
        MenuShape::List,
        "Sets of DHCP options",
    )
};
