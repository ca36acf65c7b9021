//! `/ipv6/dhcp-client/option`: options sent by DHCPv6 clients.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{DEFAULT, PORT, named, property, shown, text};
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
    flags: DEFAULT,
    columns: &["name", "code", "value", "raw-value"],
    space: Some("dhcp6-client-option"),
    key: Some("name"),
    derive: Some(raw_value),
    ..Menu::new(
        "/ipv6/dhcp-client/option",
        MenuShape::List,
        "Options that clients send",
    )
};
