//! `/interface/wifi/radio`: local and remote radios.

pub(crate) mod settings;

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("radio-mac", Kind::Mac, "Hardware address of the radio"),
        shown("phy-id", Kind::COUNTER, "Number of the radio"),
        shown("cap", Kind::Text, "CAP of the radio"),
        shown("bands", Kind::Text, "Bands and widths"),
        shown("ciphers", Kind::Text, "Ciphers"),
        shown("countries", Kind::Text, "Countries"),
        shown("interface", Kind::Text, "Interface of the radio"),
        shown("current-country", Kind::Text, "Current country"),
        shown("max-vlans", Kind::COUNTER, "Maximum number of VLANs"),
        shown(
            "max-interfaces",
            Kind::COUNTER,
            "Maximum number of interfaces",
        ),
        shown("max-peers", Kind::COUNTER, "Maximum number of clients"),
        shown("hw-type", Kind::Text, "Radio type"),
    ]],
    flags: &[Flag::new('L', "local", 0)],
    columns: &["cap", "radio-mac", "interface"],
    commands: &[
        idle_command("provision", "Provision radios"),
        idle_command("reg-info", "Show the regulations of a country"),
    ],
    old_paths: &["/interface/wifiwave2/radio"],
    ..idle_rows("/interface/wifi/radio", "Radios")
};
