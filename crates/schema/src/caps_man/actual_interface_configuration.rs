//! `/caps-man/actual-interface-configuration`: effective configuration of CAP interfaces.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The interface"),
        shown("mac-address", Kind::Mac, "Hardware address"),
        shown("radio-mac", Kind::Mac, "Hardware address of the radio"),
        shown(
            "master-interface",
            Kind::Text,
            "Physical interface of a virtual interface",
        ),
        shown("configuration.mode", Kind::Text, "Mode of the radio"),
        shown("configuration.ssid", Kind::Text, "Name of the network"),
        shown("channel.frequency", Kind::Text, "Frequency in MHz"),
        shown("channel.band", Kind::Text, "Band and standards"),
        shown(
            "datapath.bridge",
            Kind::Text,
            "Bridge to which the interface is added",
        ),
        shown(
            "security.authentication-types",
            Kind::Text,
            "Authentication types",
        ),
    ]],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('R', "running", 0)],
    columns: &["name", "configuration.ssid", "channel.frequency"],
    ..idle_rows(
        "/caps-man/actual-interface-configuration",
        "Effective configuration of CAP interfaces",
    )
};
