//! `/interface/wifi/capsman`: configuring other devices' radios.

pub(crate) mod remote_cap;

use menu::{Kind, Menu};

use crate::brief::may;
use crate::fragment::idle_settings;
use crate::interface::bridge::port::PORT;
use crate::terms::{list, maybe, no, note, shown};

const CERTIFICATE: Kind = Kind::Or(&["auto", "none"], &Kind::Name);
const POLICY: Kind = Kind::Words(&["none", "require-same-version", "suggest-same-version"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether this device configures others"),
        list("interfaces", &PORT, "Interfaces that they are behind").optional(),
        may("ca-certificate", CERTIFICATE, "Authority of certificates"),
        may("certificate", CERTIFICATE, "Certificate of this device"),
        maybe(
            "require-peer-certificate",
            "Takes devices with a certificate only",
        ),
        note("package-path", "Folder of packages"),
        may("upgrade-policy", POLICY, "Which versions they shall have"),
        shown(
            "generated-ca-certificate",
            Kind::Text,
            "Authority that was made",
        ),
        shown(
            "generated-certificate",
            Kind::Text,
            "Certificate that was made",
        ),
    ]],
    old_paths: &["/interface/wifiwave2/capsman"],
    ..idle_settings("/interface/wifi/capsman", "Configuration of other devices")
};
