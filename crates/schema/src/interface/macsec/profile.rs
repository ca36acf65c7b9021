//! `/interface/macsec/profile`: MACsec profiles.

use menu::{Builtin, ExportSelector, Flag, Kind, Menu};

use crate::declare::{list, named, number};
use crate::fragment::idle_list;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        named("Name of the profile"),
        number("server-priority", 0, 255, "Key server priority").default("10"),
        list(
            "ciphers",
            &Kind::Words(&[
                "aes-gcm-128",
                "aes-gcm-xpn-128",
                "gcm-aes-128",
                "gcm-aes-256",
            ]),
            "Ciphers",
        )
        .default("gcm-aes-128"),
    ]],
    columns: &["name", "server-priority"],
    space: Some("macsec-profile"),
    key: Some("name"),
    flags: &[Flag::new('*', "default", 0)],
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    pick: ExportSelector::Default,
    ..idle_list("/interface/macsec/profile", "Profiles of MACsec")
};
