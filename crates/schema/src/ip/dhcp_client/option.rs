//! `/ip/dhcp-client/option`: options sent by DHCP clients.

use menu::{Builtin, ExportSelector, Kind, Menu, MenuShape};

use super::OPTION_CODE;
use crate::declare::{DEFAULT, named, shown, text};
use crate::dhcp_option::raw_value;
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the option"),
        OPTION_CODE,
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
    space: Some("dhcp-client-option"),
    key: Some("name"),
    pick: ExportSelector::Name,
    builtin: &[
        Builtin {
            values: &[
                ("name", "clientid_duid"),
                ("code", "61"),
                ("value", "0xff$(CLIENT_DUID)"),
            ],
        },
        Builtin {
            values: &[
                ("name", "clientid"),
                ("code", "61"),
                ("value", "0x01$(CLIENT_MAC)"),
            ],
        },
        Builtin {
            values: &[
                ("name", "hostname"),
                ("code", "12"),
                ("value", "$(HOSTNAME)"),
            ],
        },
    ],
    derive: Some(raw_value),
    ..Menu::new(
        "/ip/dhcp-client/option",
        MenuShape::List,
        "Options that clients send",
    )
};
