//! `/interface/wifi/capsman/remote-cap`: connected CAPs.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("address", Kind::Text, "Address of the device"),
        shown("identity", Kind::Text, "Name of the device"),
        shown("board-name", Kind::Text, "Board name"),
        shown("serial", Kind::Text, "Serial number"),
        shown("version", Kind::Text, "Version"),
        shown("base-mac", Kind::Mac, "Base MAC address"),
        shown("common-name", Kind::Text, "Common name of the certificate"),
        shown("state", Kind::Text, "State"),
    ]],
    columns: &["address", "identity", "board-name", "version", "state"],
    commands: &[
        idle_command("provision", "Configure devices"),
        idle_command("set-identity", "Name a device"),
        idle_command("upgrade", "Upgrade devices"),
    ],
    ..idle_rows("/interface/wifi/capsman/remote-cap", "Connected CAPs")
};
