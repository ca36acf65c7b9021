//! `/interface/wireless/nstreme`: Nstreme settings of radios.

use menu::{FollowedMenu, Menu};

use crate::declare::{no, number, reference, words, yes};
use crate::fragment::idle_fixed;

/// Frame aggregation policies.
pub(crate) const FRAMERS: &[&str] = &["best-fit", "dynamic-size", "exact-size", "none"];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        reference("name", "interface", "The radio").read_only(),
        no("enable-nstreme", "Enable Nstreme"),
        yes("enable-polling", "Poll clients in turn"),
        no("disable-csma", "Disable carrier sense"),
        words("framer-policy", FRAMERS, "Frame aggregation policy").default("none"),
        number("framer-limit", 100, 4_000, "Maximum frame size").default("3200"),
    ]],
    columns: &[
        "name",
        "enable-nstreme",
        "enable-polling",
        "framer-policy",
        "framer-limit",
    ],
    key: Some("name"),
    follows: &[FollowedMenu {
        path: "/interface/wireless",
        values: &[],
    }],
    ..idle_fixed("/interface/wireless/nstreme", "Nstreme settings of radios")
};
