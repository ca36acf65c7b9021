//! `/ip/dhcp-server/option`: options sent by DHCP servers.

pub(crate) mod sets;

use menu::{Kind, Menu, MenuShape};

use crate::declare::{between, named, no, property, shown, text};
use crate::dhcp_option::raw_value;
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the option"),
        property("code", between(1, 254), "Number of the option (RFC 2132)").required(),
        text("value", "Value of the option"),
        no("force", "Send the option to clients that do not request it"),
        shown(
            "raw-value",
            Kind::Text,
            "Value of the option in hexadecimal",
        ),
        COMMENT,
    ]],
    columns: &["name", "code", "value", "raw-value", "force"],
    space: Some("dhcp-option"),
    key: Some("name"),
    derive: Some(raw_value),
    ..Menu::new(
        "/ip/dhcp-server/option",
        MenuShape::List,
        "Options that servers send",
    )
};
