//! `/caps-man/remote-cap`: connected CAPs.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the CAP on this router"),
        shown("address", Kind::Text, "Address of the CAP"),
        shown("board", Kind::Text, "Board name"),
        shown("serial", Kind::Text, "Serial number"),
        shown("version", Kind::Text, "Version"),
        shown("identity", Kind::Text, "Identity of the CAP"),
        shown("base-mac", Kind::Mac, "Base MAC address"),
        shown("state", Kind::Text, "State"),
        shown("radios", Kind::COUNTER, "Radios of the CAP"),
    ]],
    columns: &["address", "name", "state", "radios"],
    commands: &[
        idle_command("provision", "Provision CAPs"),
        idle_command("set-identity", "Set the identity of a CAP"),
        idle_command("upgrade", "Upgrade CAPs"),
    ],
    ..idle_rows("/caps-man/remote-cap", "Connected CAPs")
};
