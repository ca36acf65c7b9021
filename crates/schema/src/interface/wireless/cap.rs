//! `/interface/wireless/cap`: radios configured by a remote CAPsMAN.

use menu::{Family, Kind, Menu, Property};

use super::MASTER;
use crate::declare::{list, no, shown};
use crate::fragment::idle_settings;

const INTERFACE: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether another device configures this one"),
        list("interfaces", &INTERFACE, "Radios that it configures").default(""),
        Property::new(
            "certificate",
            Kind::Or(&["none", "request"], &Kind::Name),
            "Certificate of this device",
        )
        .default("none"),
        no("lock-to-caps-man", "Takes no other device"),
        list("discovery-interfaces", &INTERFACE, "Where it is looked for").default(""),
        list(
            "caps-man-addresses",
            &Kind::Address(Family::Any),
            "Its addresses",
        )
        .default(""),
        list("caps-man-names", &Kind::Name, "Its names").default(""),
        list(
            "caps-man-certificate-common-names",
            &Kind::Name,
            "Its certificates",
        )
        .default(""),
        Property::new("bridge", MASTER, "Bridge of radios that forward here").default("none"),
        no("static-virtual", "Virtual interfaces stay"),
        shown(
            "requested-certificate",
            Kind::Text,
            "Certificate that was asked for",
        ),
        shown("locked-caps-man-common-name", Kind::Text, "The only device"),
        shown(
            "current-caps-man-address",
            Kind::Text,
            "Its address at present",
        ),
        shown(
            "current-caps-man-identity",
            Kind::Text,
            "Its name at present",
        ),
    ]],
    ..idle_settings("/interface/wireless/cap", "Configuration by another device")
};
