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
        shown("cap", Kind::Text, "The device that has it"),
        shown("bands", Kind::Text, "Bands and widths"),
        shown("ciphers", Kind::Text, "Ciphers"),
        shown("countries", Kind::Text, "Countries"),
        shown("interface", Kind::Text, "Its interface"),
        shown("current-country", Kind::Text, "Country at present"),
        shown("max-vlans", Kind::COUNTER, "Most VLANs"),
        shown("max-interfaces", Kind::COUNTER, "Most interfaces"),
        shown("max-peers", Kind::COUNTER, "Most clients"),
        shown("hw-type", Kind::Text, "What the radio is"),
    ]],
    flags: &[Flag::new('L', "local", 0)],
    columns: &["cap", "radio-mac", "interface"],
    commands: &[
        idle_command("provision", "Configure radios"),
        idle_command("reg-info", "Show the rules of a country"),
    ],
    old_paths: &["/interface/wifiwave2/radio"],
    ..idle_rows("/interface/wifi/radio", "Radios")
};
