//! `/caps-man/radio`: radios of CAPs.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("radio-mac", Kind::Mac, "Hardware address of the radio"),
        shown("interface", Kind::Text, "Interface of the radio"),
        shown("remote-cap-name", Kind::Text, "The device"),
        shown("remote-cap-identity", Kind::Text, "Name of the device"),
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
        idle_command("provision", "Configure radios"),
    ],
    ..idle_rows("/caps-man/radio", "Radios of CAPs")
};
