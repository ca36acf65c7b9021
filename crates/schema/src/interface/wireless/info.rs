//! `/interface/wireless/info`: capabilities and regulatory limits of radios.

use menu::{Argument, Command, Effect, Kind, Menu, MenuShape};

use crate::declare::argument as may;
use crate::fragment::idle_rows;

const ARGUMENTS: &[Argument] = &[
    may("interface", Kind::Reference("interface"), "The radio"),
    may("country", Kind::Name, "Country whose regulations apply"),
    may("as-value", Kind::Presence, "Return the result as a value"),
];

const fn show(name: &'static str, help: &'static str) -> Command {
    Command {
        name,
        help,
        arguments: ARGUMENTS,
        effect: Effect::None,
        repeats: false,
    }
}

pub(crate) static MENU: Menu = Menu {
    shape: MenuShape::Folder,
    commands: &[
        show("allowed-channels", "Show allowed channels"),
        show("country-info", "Show the regulations of a country"),
        show("country-list", "Show countries"),
        show("default-scan-list", "Show scanned frequencies"),
        show("hw-info", "Show radio capabilities"),
        show("scan-list", "Show scanned frequencies"),
    ],
    ..idle_rows("/interface/wireless/info", "Radio capabilities")
};
