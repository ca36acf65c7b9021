//! `/interface/wifi/capsman/remote-cap`: connected CAPs.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("address", Kind::Text, "Address of the device"),
        shown("identity", Kind::Text, "Name of the device"),
        shown("board-name", Kind::Text, "What the device is"),
        shown("serial", Kind::Text, "Its serial number"),
        shown("version", Kind::Text, "Its version"),
        shown("base-mac", Kind::Mac, "Its hardware address"),
        shown("common-name", Kind::Text, "Name in its certificate"),
        shown("state", Kind::Text, "How far it is"),
    ]],
    columns: &["address", "identity", "board-name", "version", "state"],
    commands: &[
        idle_command("provision", "Configure devices"),
        idle_command("set-identity", "Name a device"),
        idle_command("upgrade", "Upgrade devices"),
    ],
    ..idle_rows(
        "/interface/wifi/capsman/remote-cap",
        "Devices that are configured here",
    )
};
