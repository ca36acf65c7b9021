//! `/interface/wifi/capsman`: the CAPsMAN service, which configures remote radios.

pub(crate) mod remote_cap;

use menu::{Kind, Menu};

use crate::declare::{list, maybe, no, optional, optional_text, shown};
use crate::fragment::idle_settings;
use crate::interface::bridge::port::PORT;

const CERTIFICATE: Kind = Kind::Or(&["auto", "none"], &Kind::Name);
const POLICY: Kind = Kind::Words(&["none", "require-same-version", "suggest-same-version"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether CAPsMAN is enabled"),
        list("interfaces", &PORT, "Interfaces on which CAPs may connect").optional(),
        optional("ca-certificate", CERTIFICATE, "Certificate authority"),
        optional("certificate", CERTIFICATE, "Certificate of this device"),
        maybe(
            "require-peer-certificate",
            "Accept only devices with a certificate",
        ),
        optional_text("package-path", "Folder of packages"),
        optional("upgrade-policy", POLICY, "Upgrade policy for CAPs"),
        shown(
            "generated-ca-certificate",
            Kind::Text,
            "Generated CA certificate",
        ),
        shown("generated-certificate", Kind::Text, "Generated certificate"),
    ]],
    old_paths: &["/interface/wifiwave2/capsman"],
    ..idle_settings("/interface/wifi/capsman", "CAPsMAN settings")
};
