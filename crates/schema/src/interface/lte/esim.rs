//! `/interface/lte/esim`: cards that are not put in but loaded.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The modem"),
        shown("iccid", Kind::Text, "Number of the card"),
        shown("provider", Kind::Text, "The operator"),
        shown("name", Kind::Text, "Name of the profile"),
        shown("nickname", Kind::Text, "Name that the user gave it"),
        shown("state", Kind::Text, "Whether it is used"),
    ]],
    flags: &[Flag::new('A', "active", 0)],
    columns: &["interface", "iccid", "provider", "name", "state"],
    commands: &[
        idle_command("activate", "Use a card"),
        idle_command("deactivate", "Do not use a card"),
        idle_command("delete", "Delete a card"),
        idle_command("esim-id", "Show the number of the chip"),
        idle_command("provision", "Load a card"),
        idle_command("refresh-profile-list", "Look for cards"),
        idle_command("send-notifications", "Tell operators of changes"),
        idle_command("set-nickname", "Name a card"),
    ],
    ..idle_rows("/interface/lte/esim", "Loaded cards")
};
