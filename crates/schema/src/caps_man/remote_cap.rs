//! `/caps-man/remote-cap`: connected CAPs.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the device here"),
        shown("address", Kind::Text, "Address of the device"),
        shown("board", Kind::Text, "What the device is"),
        shown("serial", Kind::Text, "Its serial number"),
        shown("version", Kind::Text, "Its version"),
        shown("identity", Kind::Text, "Name of the device"),
        shown("base-mac", Kind::Mac, "Its hardware address"),
        shown("state", Kind::Text, "How far it is"),
        shown("radios", Kind::COUNTER, "Its radios"),
    ]],
    columns: &["address", "name", "state", "radios"],
    commands: &[
        idle_command("provision", "Configure devices"),
        idle_command("set-identity", "Name a device"),
        idle_command("upgrade", "Upgrade devices"),
    ],
    ..idle_rows("/caps-man/remote-cap", "Devices that are configured here")
};
