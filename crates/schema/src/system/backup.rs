//! `/system/backup`: backup files of the whole configuration.

use menu::{Argument, Kind, Menu, MenuShape, Policies};

use crate::declare::{argument, command};

const PASSWORD: Argument = argument("password", Kind::Text, "Password of the file");

pub(crate) static MENU: Menu = Menu {
    commands: &[
        command(
            "load",
            "Load configuration backup",
            &[
                Argument {
                    required: true,
                    ..argument("name", Kind::Name, "Name of the file")
                },
                PASSWORD,
                argument(
                    "force-v6-to-v7-configuration-upgrade",
                    Kind::Bool,
                    "Accepted without effect",
                ),
            ],
        ),
        command(
            "save",
            "Save configuration backup",
            &[
                argument("name", Kind::Name, "Name of the file"),
                PASSWORD,
                argument("dont-encrypt", Kind::Bool, "Do not encrypt the file"),
                argument(
                    "encryption",
                    Kind::Words(&["aes-sha256"]),
                    "Encryption of the file",
                ),
            ],
        ),
    ],
    // Saving a backup reveals all secrets; loading one replaces users but reveals nothing.
    policies: Policies::POLICY.or(Policies::SENSITIVE),
    command_policies: &[("load", Policies::WRITE.or(Policies::POLICY))],
    ..Menu::new("/system/backup", MenuShape::Folder, "Configuration backup")
};
