//! `/caps-man/provisioning`: rules that assign configurations to CAP radios.

use menu::{Family, Kind, Menu, Property};

use crate::declare::{list, mac, optional, text, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_rules};

const ACTIONS: &[&str] = &[
    "create-disabled",
    "create-dynamic-enabled",
    "create-enabled",
    "none",
];
const MODES: Kind = Kind::Words(&["a", "a-turbo", "ac", "an", "b", "g", "g-turbo", "gn"]);
const CONFIGURATION: Kind = Kind::Reference("capsman-configuration");
const NAMES: &[&str] = &["cap", "identity", "prefix", "prefix-identity"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            mac("radio-mac", "Hardware address of the radio").default("00:00:00:00:00:00"),
            list("hw-supported-modes", &MODES, "Supported modes").default(""),
            text(
                "identity-regexp",
                "Regular expression for the identity of the CAP",
            ),
            text(
                "common-name-regexp",
                "Regular expression for the common name of the certificate",
            ),
            list(
                "ip-address-ranges",
                &Kind::Addresses(Family::V4),
                "Address ranges of the CAPs",
            )
            .default(""),
            words("action", ACTIONS, "Action").default("none"),
            optional(
                "master-configuration",
                CONFIGURATION,
                "Configuration profile of the radio",
            ),
            list(
                "slave-configurations",
                &CONFIGURATION,
                "Configuration profiles of virtual interfaces",
            )
            .default(""),
            words("name-format", NAMES, "Format of interface names").default("cap"),
            Property::new("name-prefix", Kind::Text, "Prefix of interface names").default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &[
        "radio-mac",
        "identity-regexp",
        "action",
        "master-configuration",
    ],
    ..idle_rules(
        "/caps-man/provisioning",
        "Provisioning rules for CAP radios",
    )
};
