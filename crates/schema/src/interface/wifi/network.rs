//! `/interface/wifi/network`: wireless networks for all radios with certain labels.

pub(crate) mod radio;

use menu::{Kind, Menu, Property};

use super::configuration::{DATAPATH, SECURITY};
use crate::declare::{between, list, maybe, optional, within};
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};

const OWN: &[Property] = &[
    optional(
        "mode",
        Kind::Words(&["ap", "station", "station-bridge", "station-pseudobridge"]),
        "Radio mode",
    ),
    optional(
        "ssid",
        Kind::Sized { min: 0, max: 32 },
        "Name of the network",
    ),
    list("labels", &Kind::Name, "Labels of radios").optional(),
    within("beacon-interval", 100, 1_000, "Time between beacons").optional(),
    optional("dtim-period", between(1, 255), "DTIM period in beacons"),
    maybe("hide-ssid", "Hide the network name"),
    optional(
        "hw-protection-mode",
        Kind::Words(&["cts-to-self", "none", "rts-cts"]),
        "Protection",
    ),
    optional(
        "max-clients",
        between(0, 65_535),
        "Maximum number of clients",
    ),
    maybe("mlo", "Use several links at once (MLO)"),
    optional(
        "multicast-enhance",
        Kind::Words(&["disabled", "enabled"]),
        "Multicast to unicast conversion",
    ),
    optional(
        "qos-classifier",
        Kind::Words(&["dscp-high-3-bits", "priority"]),
        "Priorities",
    ),
    maybe("station-roaming", "Roam to better access points"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[OWN, SECURITY, DATAPATH, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["mode", "ssid", "labels"],
    ..idle_list("/interface/wifi/network", "Networks of labelled radios")
};
