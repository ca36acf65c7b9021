//! `/ip/ipsec/installed-sa`: installed security associations.

use menu::{Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{argument, command, counter, shown};

const SA: &[Property] = &[
    shown(
        "spi",
        Kind::Hex { max: 0xffff_ffff },
        "SPI of the association",
    ),
    shown("src-address", Kind::Text, "Source address"),
    shown("dst-address", Kind::Text, "Destination address"),
    shown("state", Kind::Text, "Whether the association is in use"),
    shown("auth-algorithm", Kind::Text, "Authentication algorithm"),
    shown("enc-algorithm", Kind::Text, "Encryption algorithm"),
    counter("enc-key-size", "Length of the key in bits"),
    shown("auth-key", Kind::Text, "Authentication key").sensitive(),
    shown("enc-key", Kind::Text, "Encryption key").sensitive(),
    shown("addtime", Kind::Text, "Creation time of the association"),
    shown("expires-in", Kind::SPAN, "Remaining lifetime"),
    shown("add-lifetime", Kind::Text, "Lifetime"),
    counter("current-bytes", "Processed bytes"),
    counter("current-packets", "Processed packets"),
    counter("invalid-packets", "Invalid packets"),
    counter("replay", "Size of the replay window in packets"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[SA],
    flags: &[
        Flag::new('S', "seen-traffic", 0),
        Flag::new('H', "hw-aead", 1),
        Flag::new('A', "AH", 2),
        Flag::new('E', "ESP", 2),
    ],
    commands: &[command(
        "flush",
        "Remove security associations",
        &[argument(
            "sa-type",
            Kind::Words(&["ah", "all", "esp"]),
            "Associations to flush",
        )],
    )],
    ..Menu::new(
        "/ip/ipsec/installed-sa",
        MenuShape::Rows,
        "Installed security associations",
    )
};
