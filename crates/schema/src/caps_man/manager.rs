//! `/caps-man/manager`: settings of the CAPsMAN service.

pub(crate) mod interface;

use menu::{Kind, Menu, Property};

use crate::declare::{no, shown, text, words};
use crate::fragment::idle_settings;

const CERTIFICATE: Kind = Kind::Or(&["auto", "none"], &Kind::Name);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether CAPsMAN is enabled"),
        Property::new("certificate", CERTIFICATE, "Certificate of this device").default("none"),
        Property::new("ca-certificate", CERTIFICATE, "Certificate authority").default("none"),
        text("package-path", "Folder of packages"),
        words(
            "upgrade-policy",
            &["none", "require-same-version", "suggest-same-version"],
            "Upgrade policy for CAPs",
        )
        .default("none"),
        no(
            "require-peer-certificate",
            "Accept only devices with a certificate",
        ),
        shown("generated-certificate", Kind::Text, "Generated certificate"),
        shown(
            "generated-ca-certificate",
            Kind::Text,
            "Generated CA certificate",
        ),
    ]],
    ..idle_settings("/caps-man/manager", "CAPsMAN settings")
};
