//! `/ip/ipsec/installed-sa`: installed security associations.

use menu::{Flag, Kind, Menu, Property, Shape};

use crate::declare::{argument, command, counter, shown};

const SA: &[Property] = &[
    shown(
        "spi",
        Kind::Hex { max: 0xffff_ffff },
        "Number of the association",
    ),
    shown("src-address", Kind::Text, "Who sends"),
    shown("dst-address", Kind::Text, "Who gets it"),
    shown("state", Kind::Text, "Whether the association is in use"),
    shown("auth-algorithm", Kind::Text, "What signs packets"),
    shown("enc-algorithm", Kind::Text, "What encrypts packets"),
    counter("enc-key-size", "Length of the key in bits"),
    shown("auth-key", Kind::Text, "The key that signs").sensitive(),
    shown("enc-key", Kind::Text, "The key that encrypts").sensitive(),
    shown("addtime", Kind::Text, "When the association was made"),
    shown("expires-in", Kind::SPAN, "How long it still holds"),
    shown("add-lifetime", Kind::Text, "How long it holds"),
    counter("current-bytes", "Bytes so far"),
    counter("current-packets", "Packets so far"),
    counter("invalid-packets", "Packets that were refused"),
    counter("replay", "Packets that may be out of order"),
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
        "Forget keys",
        &[argument(
            "sa-type",
            Kind::Words(&["ah", "all", "esp"]),
            "Which keys",
        )],
    )],
    ..Menu::new("/ip/ipsec/installed-sa", Shape::Rows, "Keys in use")
};
