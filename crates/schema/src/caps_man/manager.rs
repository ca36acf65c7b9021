//! `/caps-man/manager`: settings of the CAPsMAN service.

pub(crate) mod interface;

use menu::{Kind, Menu, Property};

use crate::declare::{no, shown, text, words};
use crate::fragment::idle_settings;

const CERTIFICATE: Kind = Kind::Or(&["auto", "none"], &Kind::Name);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether other devices are configured here"),
        Property::new("certificate", CERTIFICATE, "Certificate of this device").default("none"),
        Property::new("ca-certificate", CERTIFICATE, "Authority of certificates").default("none"),
        text("package-path", "Folder of packages"),
        words(
            "upgrade-policy",
            &["none", "require-same-version", "suggest-same-version"],
            "Version",
        )
        .default("none"),
        no(
            "require-peer-certificate",
            "Takes devices with a certificate only",
        ),
        shown(
            "generated-certificate",
            Kind::Text,
            "Certificate that was made",
        ),
        shown(
            "generated-ca-certificate",
            Kind::Text,
            "Authority that was made",
        ),
    ]],
    ..idle_settings("/caps-man/manager", "Configuration of other devices")
};
