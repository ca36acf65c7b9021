//! `/interface/wifi/registration-table`: connected wireless clients.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The interface"),
        shown("ssid", Kind::Text, "Name of the network"),
        shown("mac-address", Kind::Mac, "Hardware address"),
        shown("uptime", Kind::SPAN, "Uptime of the connection"),
        shown(
            "last-activity",
            Kind::SPAN,
            "Time since the last frame of the client",
        ),
        shown("signal", Kind::Text, "Signal in dBm"),
        shown("auth-type", Kind::Text, "Authentication type"),
        shown("band", Kind::Text, "Band and standard"),
        shown("tx-rate", Kind::Text, "Transmit rate"),
        shown("rx-rate", Kind::Text, "Receive rate"),
        shown("vlan-id", Kind::COUNTER, "VLAN id"),
        shown("comment", Kind::Text, "Short description of the client"),
    ]],
    flags: &[Flag::new('A', "authorized", 0)],
    columns: &[
        "interface",
        "ssid",
        "mac-address",
        "uptime",
        "signal",
        "auth-type",
        "band",
    ],
    old_paths: &["/interface/wifiwave2/registration-table"],
    ..idle_rows("/interface/wifi/registration-table", "Connected clients")
};
