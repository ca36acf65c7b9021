//! `/caps-man/remote-cap`: connected CAPs.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the device here"),
        shown("address", Kind::Text, "Address of the device"),
        shown("board", Kind::Text, "Board name"),
        shown("serial", Kind::Text, "Serial number"),
        shown("version", Kind::Text, "Version"),
        shown("identity", Kind::Text, "Name of the device"),
        shown("base-mac", Kind::Mac, "Base MAC address"),
        shown("state", Kind::Text, "State"),
        shown("radios", Kind::COUNTER, "Radios of the CAP"),
    ]],
    columns: &["address", "name", "state", "radios"],
    commands: &[
        idle_command("provision", "Configure devices"),
        idle_command("set-identity", "Name a device"),
        idle_command("upgrade", "Upgrade devices"),
    ],
    ..idle_rows("/caps-man/remote-cap", "Connected CAPs")
};
