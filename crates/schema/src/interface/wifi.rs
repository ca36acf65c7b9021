//! `/interface/wifi`: wireless interfaces; not supported.

pub(crate) mod aaa;
pub(crate) mod access_list;
pub(crate) mod cap;
pub(crate) mod capsman;
pub(crate) mod channel;
pub(crate) mod configuration;
pub(crate) mod datapath;
pub(crate) mod interworking;
pub(crate) mod network;
pub(crate) mod provisioning;
pub(crate) mod radio;
pub(crate) mod registration_table;
pub(crate) mod security;
pub(crate) mod steering;

use menu::{Flag, Kind, Menu, Property};

use self::configuration::{AAA, CHANNEL, DATAPATH, INTERWORKING, PROFILES, SECURITY, STEERING};
use super::{IDLE_MONITOR, RESET_COUNTERS, idle_command};
use crate::declare::{maybe, number, optional, reference, shown};
use crate::fragment::{ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};
use crate::wifi::configuration;

const CONFIGURATION: &[Property] = configuration!("configuration.");
const MASTER: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            shown("default-name", Kind::Text, "Default name of the radio"),
            Property::new("name", Kind::Name, "Name of the interface"),
            number("mtu", 32, 65_535, "Maximum transmission unit of layer 3").default("1500"),
            number("l2mtu", 32, 65_535, "Maximum transmission unit of layer 2").default("1560"),
            optional("mac-address", Kind::Mac, "Hardware address"),
            optional("radio-mac", Kind::Mac, "Hardware address of the radio"),
            shown(
                "orig-mac-address",
                Kind::Mac,
                "The radio's own hardware address",
            ),
            optional(
                "master-interface",
                MASTER,
                "Physical interface of a virtual interface",
            ),
            optional("mld-interface", MASTER, "Multi-link (MLO) interface"),
            optional(
                "mld-name",
                Kind::Name,
                "Name of the multi-link (MLO) interface",
            ),
            maybe(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
        ],
        ARP,
        &[reference(
            "configuration",
            "wifi-configuration",
            "Configuration profile",
        )
        .optional()],
        CONFIGURATION,
        PROFILES,
        CHANNEL,
        SECURITY,
        DATAPATH,
        AAA,
        INTERWORKING,
        STEERING,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    flags: &[
        Flag::new('M', "master", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('B', "bound", 2),
        Flag::new('X', "disabled", 3),
        Flag::new('I', "inactive", 3),
        Flag::new('R', "running", 3),
    ],
    columns: &[
        "name",
        "mac-address",
        "configuration",
        "configuration.mode",
        "configuration.ssid",
        "channel",
    ],
    ports: &[("wifi", "wifi")],
    commands: &[
        IDLE_MONITOR,
        idle_command("flat-snoop", "Scan for networks"),
        idle_command("frequency-scan", "Show channel usage"),
        idle_command("liberate", "Disconnect clients"),
        idle_command(
            "reset-mac-address",
            "Restore the original MAC addresses of radios",
        ),
        idle_command("scan", "Scan for networks"),
        idle_command("sniffer", "Record frames"),
        idle_command("spectral-history", "Show the spectrum over time"),
        idle_command("spectral-scan", "Show the spectrum"),
        idle_command("wps-client", "Start WPS client"),
        idle_command("wps-push-button", "Press the WPS button"),
        RESET_COUNTERS,
    ],
    old_paths: &["/interface/wifiwave2"],
    ..idle_interfaces("/interface/wifi", "wifi", "Wireless interfaces")
};
