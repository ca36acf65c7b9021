//! `/interface/ethernet/switch/port`: how switch chips treat the frames of their ports.

use menu::{Follow, Kind, Menu, Pick, Property};

use super::PORT;
use crate::fragment::idle_fixed;
use crate::terms::{maybe, no, refer, words, yes};

const RATE: Kind = Kind::Or(&["unlimited"], &Kind::Rate);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        refer("name", "interface", "The port").read_only(),
        refer("switch", "switch", "The switch chip")
            .default("switch1")
            .read_only(),
        words(
            "vlan-mode",
            &["check", "disabled", "fallback", "secure"],
            "Filtering by VLAN",
        )
        .default("disabled"),
        words(
            "vlan-header",
            &["add-if-missing", "always-strip", "leave-as-is"],
            "What becomes of tags on the way out",
        )
        .default("leave-as-is"),
        Property::new(
            "default-vlan-id",
            Kind::Or(&["auto"], &Kind::Number { min: 0, max: 4_095 }),
            "VLAN of untagged frames",
        )
        .default("auto"),
        maybe("l3-hw-offloading", "Lets the chip route what comes in here"),
        Property::new("ingress-rate", RATE, "Most bits a second in").default("unlimited"),
        Property::new("egress-rate", RATE, "Most bits a second out").default("unlimited"),
        Property::new(
            "storm-rate",
            Kind::Number { min: 1, max: 100 },
            "Percent for storms",
        )
        .default("100"),
        yes("limit-broadcasts", "Limits broadcasts"),
        no("limit-unknown-multicasts", "Limits unknown multicasts"),
        no("limit-unknown-unicasts", "Limits unknown unicasts"),
        no("mirror-egress", "Copies what goes out"),
        no("mirror-ingress", "Copies what comes in"),
        Property::new(
            "mirror-ingress-target",
            Kind::Or(&["none"], &PORT),
            "Gets the copies",
        )
        .default("none"),
    ]],
    columns: &[
        "name",
        "switch",
        "vlan-mode",
        "vlan-header",
        "default-vlan-id",
    ],
    key: Some("name"),
    pick: Pick::Number,
    follows: &[Follow {
        path: "/interface/ethernet",
        values: &[],
    }],
    rank: 77,
    ..idle_fixed("/interface/ethernet/switch/port", "Ports of switch chips")
};
