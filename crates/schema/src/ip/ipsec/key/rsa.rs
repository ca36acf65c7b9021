//! `/ip/ipsec/key/rsa`: RSA key pairs.

use menu::{Argument, Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{argument, command, counter, on_items};

const NAME: Argument = argument("name", Kind::Text, "Name of the key");
const FILE: Argument = argument("file-name", Kind::Text, "The file");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the key"),
        counter("key-size", "Length of the key in bits"),
    ]],
    flags: &[Flag::new('P', "private-key", 0), Flag::new('R', "rsa", 1)],
    columns: &["name", "key-size"],
    key: Some("name"),
    commands: &[
        command(
            "export-pub-key",
            "Write the public key to a file",
            &[argument("key", Kind::Text, "The key"), FILE],
        ),
        command(
            "generate-key",
            "Generate a key pair",
            &[
                NAME,
                argument(
                    "key-size",
                    Kind::Words(&["2048", "4096", "8192"]),
                    "Key length in bits",
                ),
            ],
        ),
        command(
            "import",
            "Import a key from a file",
            &[
                FILE,
                NAME,
                argument("passphrase", Kind::Text, "The passphrase of the key"),
            ],
        ),
        on_items("remove", "Remove keys"),
    ],
    effect: Effect::None,
    ..Menu::new("/ip/ipsec/key/rsa", MenuShape::Fixed, "RSA keys")
};
