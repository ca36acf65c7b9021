//! `/ip/ipsec/installed-sa`: keys in use.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::brief::{argument, command, count, read};

const SA: &[Property] = &[
    read(
        "spi",
        Kind::Hex { max: 0xffff_ffff },
        "Number of the association",
    ),
    read("src-address", Kind::Text, "Who sends"),
    read("dst-address", Kind::Text, "Who gets it"),
    read("state", Kind::Text, "Whether the association is in use"),
    read("auth-algorithm", Kind::Text, "What signs packets"),
    read("enc-algorithm", Kind::Text, "What encrypts packets"),
    count("enc-key-size", "Length of the key in bits"),
    read("auth-key", Kind::Text, "The key that signs").sensitive(),
    read("enc-key", Kind::Text, "The key that encrypts").sensitive(),
    read("addtime", Kind::Text, "When the association was made"),
    read("expires-in", Kind::SPAN, "How long it still holds"),
    read("add-lifetime", Kind::Text, "How long it holds"),
    count("current-bytes", "Bytes so far"),
    count("current-packets", "Packets so far"),
    count("invalid-packets", "Packets that were refused"),
    count("replay", "Packets that may be out of order"),
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
    effect: Effect::None,
    ..Menu::new("/ip/ipsec/installed-sa", Shape::Rows, "Keys in use")
};
