//! `/interface/wireless/registration-table`: connected wireless clients.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The interface"),
        shown("radio-name", Kind::Text, "Name of the device"),
        shown("mac-address", Kind::Mac, "Hardware address"),
        shown("ap", Kind::Bool, "Whether it is an access point"),
        shown("signal-strength", Kind::Text, "Signal in dBm"),
        shown("tx-rate", Kind::Text, "Rate to it"),
        shown("rx-rate", Kind::Text, "Rate from it"),
        shown("uptime", Kind::SPAN, "How long it has been connected"),
        shown("last-ip", Kind::Text, "Its address"),
        shown("comment", Kind::Text, "Short description of it"),
    ]],
    flags: &[Flag::new('A', "ap", 0)],
    columns: &[
        "interface",
        "radio-name",
        "mac-address",
        "ap",
        "signal-strength",
        "tx-rate",
        "uptime",
    ],
    commands: &[idle_command("reset-counters", "Reset counters")],
    ..idle_rows(
        "/interface/wireless/registration-table",
        "Devices that are connected",
    )
};
