//! `/interface/wifi/cap`: radios configured by a remote CAPsMAN.

use menu::{Family, Kind, Menu};

use crate::declare::{list, maybe, no, optional, shown};
use crate::fragment::idle_settings;

const CERTIFICATE: Kind = Kind::Or(&["none", "request"], &Kind::Name);
const DATAPATH: Kind = Kind::Reference("wifi-datapath");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether CAP mode is enabled"),
        list(
            "discovery-interfaces",
            &Kind::Reference("interface"),
            "Discovery interfaces",
        )
        .optional(),
        optional("certificate", CERTIFICATE, "Certificate of this device"),
        maybe("lock-to-caps-man", "Lock to one CAPsMAN"),
        list(
            "caps-man-addresses",
            &Kind::Address(Family::Any),
            "CAPsMAN addresses",
        )
        .optional(),
        list("caps-man-names", &Kind::Name, "CAPsMAN names").optional(),
        list(
            "caps-man-certificate-common-names",
            &Kind::Name,
            "CAPsMAN certificate names",
        )
        .optional(),
        maybe("slaves-static", "Create static virtual interfaces"),
        optional("slaves-datapath", DATAPATH, "Datapath for slave interfaces"),
        maybe("mld-static", "Create static multi-link interfaces"),
        optional(
            "mld-datapath",
            DATAPATH,
            "Datapath for multi-link interfaces",
        ),
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
    old_paths: &["/interface/wifiwave2/cap"],
    ..idle_settings("/interface/wifi/cap", "CAP settings")
};
