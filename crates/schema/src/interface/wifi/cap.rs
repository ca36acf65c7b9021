//! `/interface/wifi/cap`: radios configured by a remote CAPsMAN.

use menu::{Family, Kind, Menu};

use crate::declare::{list, maybe, no, optional, shown};
use crate::fragment::idle_settings;

const CERTIFICATE: Kind = Kind::Or(&["none", "request"], &Kind::Name);
const DATAPATH: Kind = Kind::Reference("wifi-datapath");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether another device configures this one"),
        list(
            "discovery-interfaces",
            &Kind::Reference("interface"),
            "Where it is looked for",
        )
        .optional(),
        optional("certificate", CERTIFICATE, "Certificate of this device"),
        maybe("lock-to-caps-man", "Takes no other device"),
        list(
            "caps-man-addresses",
            &Kind::Address(Family::Any),
            "Its addresses",
        )
        .optional(),
        list("caps-man-names", &Kind::Name, "Its names").optional(),
        list(
            "caps-man-certificate-common-names",
            &Kind::Name,
            "Its certificates",
        )
        .optional(),
        maybe("slaves-static", "Virtual interfaces stay"),
        optional("slaves-datapath", DATAPATH, "Where their frames go"),
        maybe("mld-static", "Interfaces of several links stay"),
        optional("mld-datapath", DATAPATH, "Where their frames go"),
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
    old_paths: &["/interface/wifiwave2/cap"],
    ..idle_settings("/interface/wifi/cap", "Configuration by another device")
};
