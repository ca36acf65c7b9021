//! `/interface/wireless/cap`: radios configured by a remote CAPsMAN.

use menu::{Family, Kind, Menu, Property};

use super::MASTER;
use crate::declare::{list, no, shown};
use crate::fragment::idle_settings;

const INTERFACE: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether CAP mode is enabled"),
        list("interfaces", &INTERFACE, "Radios controlled by CAPsMAN").default(""),
        Property::new(
            "certificate",
            Kind::Or(&["none", "request"], &Kind::Name),
            "Certificate of this device",
        )
        .default("none"),
        no("lock-to-caps-man", "Lock to one CAPsMAN"),
        list("discovery-interfaces", &INTERFACE, "Discovery interfaces").default(""),
        list(
            "caps-man-addresses",
            &Kind::Address(Family::Any),
            "CAPsMAN addresses",
        )
        .default(""),
        list("caps-man-names", &Kind::Name, "CAPsMAN names").default(""),
        list(
            "caps-man-certificate-common-names",
            &Kind::Name,
            "CAPsMAN certificate names",
        )
        .default(""),
        Property::new("bridge", MASTER, "Bridge of radios with local forwarding").default("none"),
        no("static-virtual", "Create static virtual interfaces"),
        shown("requested-certificate", Kind::Text, "Requested certificate"),
        shown(
            "locked-caps-man-common-name",
            Kind::Text,
            "Common name of the CAPsMAN to which the CAP is locked",
        ),
        shown(
            "current-caps-man-address",
            Kind::Text,
            "Current CAPsMAN address",
        ),
        shown(
            "current-caps-man-identity",
            Kind::Text,
            "Current CAPsMAN name",
        ),
    ]],
    ..idle_settings("/interface/wireless/cap", "CAP settings")
};
