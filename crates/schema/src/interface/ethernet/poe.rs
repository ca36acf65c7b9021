//! `/interface/ethernet/poe`: power over Ethernet (IEEE 802.3af). There is no such port here.

pub(crate) mod settings;

use menu::{Follow, Kind, Menu};

use crate::fragment::idle_fixed;
use crate::terms::{address, no, number, refer, shown, span, words};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        refer("name", "interface", "The port").read_only(),
        words(
            "poe-out",
            &["auto-on", "forced-on", "off"],
            "Whether power is given",
        )
        .default("auto-on"),
        number(
            "poe-priority",
            0,
            99,
            "Who keeps power when there is too little",
        )
        .default("10"),
        words("poe-voltage", &["auto", "high", "low"], "The voltage").default("auto"),
        no("poe-lldp-enabled", "Agrees on power by LLDP"),
        no(
            "power-cycle-ping-enabled",
            "Cycles power when a host does not answer",
        ),
        address("power-cycle-ping-address", "The host").optional(),
        span("power-cycle-ping-timeout", "How long it may be silent").default("5s"),
        span("power-cycle-interval", "How often power is cycled").optional(),
        shown(
            "poe-out-status",
            Kind::Text,
            "What the port does at present",
        ),
    ]],
    columns: &["name", "poe-out", "poe-priority", "poe-voltage"],
    key: Some("name"),
    follows: &[Follow {
        path: "/interface/ethernet",
        values: &[],
    }],
    rank: 79,
    ..idle_fixed("/interface/ethernet/poe", "Power over Ethernet")
};
