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
        shown("ap", Kind::Bool, "Whether the peer is an access point"),
        shown("signal-strength", Kind::Text, "Signal in dBm"),
        shown("tx-rate", Kind::Text, "Transmit rate"),
        shown("rx-rate", Kind::Text, "Receive rate"),
        shown("uptime", Kind::SPAN, "Uptime of the connection"),
        shown("last-ip", Kind::Text, "MAC address"),
        shown("comment", Kind::Text, "Short description of the client"),
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
        "Connected devices",
    )
};
