//! `/interface/wifi/security/multi-passphrase`: several passphrases for one network.

use menu::{Kind, Menu, Property};

use crate::declare::{maybe, optional, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::wifi::VLAN;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("group", Kind::Name, "The group of passphrases").required(),
            Property::new(
                "passphrase",
                Kind::Sized { min: 8, max: 64 },
                "The passphrase",
            )
            .required()
            .sensitive(),
            optional("vlan-id", VLAN, "VLAN of clients"),
            maybe("isolation", "Isolate clients from each other"),
            optional_text("expires", "Expiry time"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["group", "vlan-id", "isolation", "expires"],
    ..idle_list(
        "/interface/wifi/security/multi-passphrase",
        "Passphrases of groups",
    )
};
