//! `/caps-man/interface`: interfaces of CAP radios.

use menu::{Flag, Kind, Menu, Property};

use super::configuration::{CHANNEL, DATAPATH, PROFILES, RATES, SECURITY};
use crate::capsman::configuration;
use crate::declare::{mac, no, number, optional, reference, text};
use crate::fragment::{
    ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, name_mtu,
};
use crate::interface::idle_command;

const CONFIGURATION: &[Property] = configuration!("configuration.");
const MASTER: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[
            number("l2mtu", 0, 65_535, "Maximum transmission unit of layer 2").default("1600"),
            optional("mac-address", Kind::Mac, "Hardware address"),
        ],
        ARP,
        &[
            no(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
            mac("radio-mac", "Hardware address of the radio").default("00:00:00:00:00:00"),
            text("radio-name", "Name of the radio"),
            Property::new(
                "master-interface",
                MASTER,
                "Physical interface of a virtual interface",
            )
            .default("none"),
            reference(
                "configuration",
                "capsman-configuration",
                "Configuration profile",
            )
            .optional(),
        ],
        CONFIGURATION,
        PROFILES,
        CHANNEL,
        DATAPATH,
        RATES,
        SECURITY,
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
    columns: &["name", "radio-mac", "master-interface", "configuration"],
    naming: "cap",
    commands: &[
        idle_command("hw-info", "Show radio information"),
        idle_command("possible-channels", "Show channels of radios"),
        idle_command("reselect-channel", "Select channels again"),
        idle_command("scan", "Scan for networks"),
    ],
    ..idle_interfaces("/caps-man/interface", "cap", "Interfaces of CAP radios")
};
