//! `/ipv6/dhcp-relay/option`: options added by relays.

use menu::{Builtin, Effect, ExportSelector, Kind, Menu, MenuShape};

use crate::declare::{DEFAULT, PORT, named, no, property, shown, text};
use crate::dhcp_option::raw_value;
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the option"),
        property("code", PORT, "Number of the option").required(),
        text("value", "Value of the option"),
        no(
            "only-if-mac-available",
            "Add the option only if the client's MAC address is known",
        ),
        shown(
            "raw-value",
            Kind::Text,
            "Value of the option in hexadecimal",
        ),
        COMMENT,
    ]],
    flags: DEFAULT,
    columns: &["name", "code", "value", "only-if-mac-available"],
    space: Some("dhcp6-relay-option"),
    key: Some("name"),
    pick: ExportSelector::Name,
    builtin: &[Builtin {
        values: &[
            ("name", "client_mac"),
            ("code", "79"),
            ("value", "0x0001$(CLIENT_MAC)"),
            ("only-if-mac-available", "yes"),
        ],
    }],
    effect: Effect::None,
    derive: Some(raw_value),
    ..Menu::new(
        "/ipv6/dhcp-relay/option",
        MenuShape::List,
        "Options that relays add",
    )
};
