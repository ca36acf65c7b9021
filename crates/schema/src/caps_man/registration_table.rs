//! `/caps-man/registration-table`: connected wireless clients.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The interface"),
        shown("ssid", Kind::Text, "Name of the network"),
        shown("mac-address", Kind::Mac, "Hardware address"),
        shown("uptime", Kind::SPAN, "Uptime of the connection"),
        shown("tx-rate", Kind::Text, "Transmit rate"),
        shown("rx-rate", Kind::Text, "Receive rate"),
        shown("rx-signal", Kind::Text, "Signal in dBm"),
        shown("comment", Kind::Text, "Short description of the client"),
    ]],
    columns: &["interface", "ssid", "mac-address", "uptime", "rx-signal"],
    ..idle_rows("/caps-man/registration-table", "Connected wireless clients")
};
