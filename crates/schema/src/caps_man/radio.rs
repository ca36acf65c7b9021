//! `/caps-man/radio`: radios of CAPs.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("radio-mac", Kind::Mac, "Hardware address of the radio"),
        shown("interface", Kind::Text, "Interface of the radio"),
        shown("remote-cap-name", Kind::Text, "Name of the CAP"),
        shown("remote-cap-identity", Kind::Text, "Identity of the CAP"),
    ]],
    flags: &[Flag::new('L', "local", 0), Flag::new('P', "provisioned", 1)],
    columns: &[
        "radio-mac",
        "interface",
        "remote-cap-name",
        "remote-cap-identity",
    ],
    commands: &[
        idle_command("hw-info", "Show radio information"),
        idle_command("provision", "Provision radios"),
    ],
    ..idle_rows("/caps-man/radio", "Radios of CAPs")
};
