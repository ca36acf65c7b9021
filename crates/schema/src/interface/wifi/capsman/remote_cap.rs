//! `/interface/wifi/capsman/remote-cap`: connected CAPs.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("address", Kind::Text, "Address of the CAP"),
        shown("identity", Kind::Text, "Identity of the CAP"),
        shown("board-name", Kind::Text, "Board name"),
        shown("serial", Kind::Text, "Serial number"),
        shown("version", Kind::Text, "Version"),
        shown("base-mac", Kind::Mac, "Base MAC address"),
        shown("common-name", Kind::Text, "Common name of the certificate"),
        shown("state", Kind::Text, "State"),
    ]],
    columns: &["address", "identity", "board-name", "version", "state"],
    commands: &[
        idle_command("provision", "Provision CAPs"),
        idle_command("set-identity", "Set the identity of a CAP"),
        idle_command("upgrade", "Upgrade CAPs"),
    ],
    ..idle_rows("/interface/wifi/capsman/remote-cap", "Connected CAPs")
};
