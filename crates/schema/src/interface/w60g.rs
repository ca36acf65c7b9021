//! `/interface/w60g`: 60 GHz radios; configuration is stored without effect.

pub(crate) mod station;

use menu::{Kind, Menu, MenuShape, Property};

use super::IDLE_MONITOR;
use crate::declare::{no, secret, text, words};
use crate::fragment::{
    ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, idle_port,
};

/// The bridge that stations join.
const BRIDGE: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));
const CHANNELS: &[&str] = &[
    "58320", "60480", "62640", "64800", "66000", "66960", "69120", "auto",
];
const MODES: &[&str] = &[
    "ap-bridge",
    "bridge",
    "sniff",
    "station-bridge",
    "terragraph",
];
const REGIONS: &[&str] = &[
    "asia",
    "australia",
    "canada",
    "china",
    "eu",
    "japan",
    "no-region-set",
    "usa",
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &idle_port("Default name of the radio"),
        ARP,
        &[
            words("mode", MODES, "Radio type").optional(),
            text("ssid", "Name of the network"),
            secret("password", "Password of the network"),
            words("frequency", CHANNELS, "Frequency in MHz").default("auto"),
            Property::new(
                "scan-list",
                Kind::List(&Kind::Words(CHANNELS)),
                "Scanned frequencies",
            )
            .optional(),
            words("region", REGIONS, "Region").default("no-region-set"),
            Property::new(
                "tx-sector",
                Kind::Or(&["auto"], &Kind::Number { min: 0, max: 63 }),
                "Transmit sector",
            )
            .default("auto"),
            Property::new("put-stations-in-bridge", BRIDGE, "Bridge for stations").default("none"),
            no("isolate-stations", "Isolate stations"),
            Property::new("mdmg-fix", Kind::Bool, "Compatibility with older devices").optional(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    shape: MenuShape::Fixed,
    columns: &["name", "mtu", "mac-address", "mode", "ssid", "frequency"],
    ports: &[("wlan60-", "w60g")],
    commands: &[IDLE_MONITOR],
    ..idle_interfaces("/interface/w60g", "w60g", "Radios of 60 GHz")
};
