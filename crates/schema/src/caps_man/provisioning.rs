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
            text("identity-regexp", "Names of devices"),
            text("common-name-regexp", "Names in certificates"),
            list(
                "ip-address-ranges",
                &Kind::Addresses(Family::V4),
                "Addresses of devices",
            )
            .default(""),
            words("action", ACTIONS, "Action").default("none"),
            optional(
                "master-configuration",
                CONFIGURATION,
                "Network of the radio",
            ),
            list("slave-configurations", &CONFIGURATION, "Further networks").default(""),
            words("name-format", NAMES, "Names of interfaces").default("cap"),
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
