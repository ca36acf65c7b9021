//! `/ipv6/dhcp-server/option`: options sent by DHCPv6 servers.

pub(crate) mod sets;

use menu::{Kind, Menu, MenuShape};

use crate::declare::{PORT, named, property, shown, text};
use crate::dhcp_option::raw_value;
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the option"),
        property("code", PORT, "Number of the option").required(),
        text("value", "Value of the option"),
        shown(
            "raw-value",
            Kind::Text,
            "Value of the option in hexadecimal",
        ),
        COMMENT,
    ]],
    columns: &["name", "code", "value", "raw-value"],
    space: Some("dhcp6-option"),
    key: Some("name"),
    derive: Some(raw_value),
    ..Menu::new(
        "/ipv6/dhcp-server/option",
        MenuShape::List,
        "Options that servers send",
    )
};
