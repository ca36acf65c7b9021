//! `/interface/ethernet`: Ethernet ports.

pub(crate) mod poe;
pub(crate) mod switch;

use menu::{Command, Draft, Effect, Kind, Menu, MenuShape, OldProperty, Property, Value};

use super::{FLAGS, NUMBERS, ONCE, RESET_COUNTERS};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, LOOP_PROTECT,
};

/// Link modes, in ascending speed.
const MODES: &[&str] = &[
    "10M-baseT-half",
    "10M-baseT-full",
    "100M-baseT-half",
    "100M-baseT-full",
    "1G-baseT-half",
    "1G-baseT-full",
    "1G-baseX",
    "2.5G-baseT",
    "2.5G-baseX",
    "5G-baseT",
    "10G-baseT",
    "10G-baseSR-LR",
    "10G-baseCR",
    "25G-baseSR-LR",
    "25G-baseCR",
    "40G-baseSR4-LR4",
    "40G-baseCR4",
    "50G-baseSR2-LR2",
    "50G-baseCR2",
    "100G-baseSR4-LR4",
    "100G-baseCR4",
    // Spellings of older versions, which are converted to those above.
    "10M-half",
    "10M-full",
    "100M-half",
    "100M-full",
    "1000M-half",
    "1000M-full",
    "2500M-full",
    "5000M-full",
    "10000M-full",
    "25G-full",
    "40G-full",
    "50G-full",
    "100G-full",
    "10Mbps",
    "100Mbps",
    "1Gbps",
    "2.5Gbps",
    "5Gbps",
    "10Gbps",
    "25Gbps",
    "40Gbps",
    "50Gbps",
    "100Gbps",
];

/// Link modes: old and current spelling.
const RENAMED: &[(&str, &str)] = &[
    ("10M-half", "10M-baseT-half"),
    ("10M-full", "10M-baseT-full"),
    ("100M-half", "100M-baseT-half"),
    ("100M-full", "100M-baseT-full"),
    ("1000M-half", "1G-baseT-half"),
    ("1000M-full", "1G-baseT-full"),
    ("2500M-full", "2.5G-baseT"),
    ("5000M-full", "5G-baseT"),
    ("10000M-full", "10G-baseT"),
    ("25G-full", "25G-baseCR"),
    ("40G-full", "40G-baseCR4"),
    ("50G-full", "50G-baseCR2"),
    ("100G-full", "100G-baseCR4"),
    ("10Mbps", "10M-baseT-full"),
    ("100Mbps", "100M-baseT-full"),
    ("1Gbps", "1G-baseT-full"),
    ("2.5Gbps", "2.5G-baseT"),
    ("5Gbps", "5G-baseT"),
    ("10Gbps", "10G-baseT"),
    ("25Gbps", "25G-baseCR"),
    ("40Gbps", "40G-baseCR4"),
    ("50Gbps", "50G-baseCR2"),
    ("100Gbps", "100G-baseCR4"),
];

const FLOW_CONTROL: Kind = Kind::Words(&["auto", "off", "on"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            Property::new("default-name", Kind::Text, "Default name of the port").read_only(),
            Property::new(
                "mtu",
                Kind::Number {
                    min: 68,
                    max: 65_535,
                },
                "Maximum transmission unit of layer 3",
            )
            .default("1500"),
            Property::new(
                "l2mtu",
                Kind::Number {
                    min: 0,
                    max: 65_535,
                },
                "Maximum transmission unit of layer 2",
            )
            .inert(),
            Property::new(
                "mac-address",
                Kind::Mac,
                "Hardware address; the port's own by default",
            ),
            Property::new(
                "orig-mac-address",
                Kind::Mac,
                "The port's own hardware address",
            )
            .read_only(),
        ],
        ARP,
        LOOP_PROTECT,
        &[
            Property::new(
                "disable-running-check",
                Kind::Bool,
                "Consider the interface running at all times",
            )
            .default("yes"),
            Property::new(
                "auto-negotiation",
                Kind::Bool,
                "Negotiate speed and duplex with the link partner",
            )
            .default("yes"),
            Property::new(
                "advertise",
                Kind::List(&Kind::Words(MODES)),
                "Modes advertised to the link partner",
            ),
            Property::new(
                "speed",
                Kind::Words(MODES),
                "Speed and duplex without auto-negotiation",
            ),
            Property::new("tx-flow-control", FLOW_CONTROL, "Send pause frames")
                .default("off")
                .inert_for(is_auto),
            Property::new(
                "rx-flow-control",
                FLOW_CONTROL,
                "Obey received pause frames",
            )
            .default("off")
            .inert_for(is_auto),
            Property::new(
                "fec-mode",
                Kind::Words(&["auto", "fec74", "fec91", "off"]),
                "Forward error correction",
            )
            .inert(),
            Property::new(
                "cable-settings",
                Kind::Words(&["default", "short", "standard"]),
                "Cable type",
            )
            .inert(),
            Property::new(
                "combo-mode",
                Kind::Words(&["auto", "copper", "sfp"]),
                "Active connector",
            )
            .inert(),
            Property::new(
                "mdix-enable",
                Kind::Bool,
                "Detect crossover cables automatically",
            )
            .inert(),
            Property::new(
                "master-port",
                Kind::Or(&["none"], &Kind::Reference("interface")),
                "Older versions: master port of the switch chip group",
            )
            .optional()
            .inert(),
            Property::new(
                "passthrough-interface",
                Kind::Reference("interface"),
                "Passthrough interface",
            )
            .optional()
            .inert(),
            Property::new(
                "sfp-rate-select",
                Kind::Words(&["high", "low"]),
                "Rate select pin of the SFP module",
            )
            .inert(),
            Property::new(
                "sfp-ignore-rx-los",
                Kind::Bool,
                "Ignore the SFP module's loss of signal",
            )
            .inert(),
            Property::new(
                "sfp-shutdown-temperature",
                crate::spelling::DEGREES,
                "Shutdown temperature of the SFP module",
            )
            .inert(),
        ],
        poe::OF_PORT,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    upgrade: Some(super::master_port::upgrade),
    flags: FLAGS,
    columns: &["name", "mtu", "mac-address", "arp", "switch"],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "ether",
    ports: &[
        ("ether", "ether"),
        ("sfp", "ether"),
        ("sfp-sfpplus", "ether"),
        ("sfpplus", "ether"),
        ("sfp28-", "ether"),
        ("qsfpplus", "ether"),
        ("qsfp28-", "ether"),
        ("combo", "ether"),
    ],
    commands: &[
        Command {
            name: "blink",
            help: "Blink the port's LEDs",
            arguments: &[NUMBERS],
            effect: Effect::None,
            repeats: false,
        },
        Command {
            name: "cable-test",
            help: "Measure the cables of ports",
            arguments: &[NUMBERS, ONCE],
            effect: Effect::None,
            repeats: false,
        },
        Command {
            name: "monitor",
            help: "Monitor the status of ports",
            arguments: &[NUMBERS, ONCE],
            effect: Effect::Full,
            repeats: true,
        },
        RESET_COUNTERS,
        Command {
            name: "reset-mac-address",
            help: "Restore the original MAC addresses of ports",
            arguments: &[NUMBERS],
            effect: Effect::Full,
            repeats: false,
        },
    ],
    old: &[
        OldProperty::gone("orig-mac-address"),
        OldProperty::gone("bandwidth"),
        OldProperty::gone("full-duplex"),
    ],
    derive: Some(rename_modes),
    conditions: crate::conditions::ETHERNET,
    ..Menu::new("/interface/ethernet", MenuShape::Fixed, "Ethernet ports")
};

/// The value `auto` has no effect: pause frames are switched on or off, not negotiated.
fn is_auto(value: &str) -> bool {
    value == "auto"
}

/// Converts link modes of older versions.
fn rename_modes(draft: &mut Draft<'_>) {
    for name in ["speed", "advertise"] {
        let mut value = draft.get(name).cloned();
        match &mut value {
            Some(Value::List(modes)) => modes.iter_mut().for_each(rename_mode),
            Some(mode) => rename_mode(mode),
            None => continue,
        }
        draft.set(name, value);
    }
}

fn rename_mode(mode: &mut Value) {
    if let Value::Word(word) = mode
        && let Some((_, new)) = RENAMED.iter().find(|(old, _)| old == word)
    {
        *word = new;
    }
}
