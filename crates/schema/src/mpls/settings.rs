//! `/mpls/settings`: global MPLS settings.

use menu::{Kind, Menu, Property};

use crate::declare::{shown, yes};
use crate::fragment::idle_settings;

const LABELS: Kind = Kind::Range(
    "-",
    &Kind::Number {
        min: 16,
        max: 1_048_575,
    },
);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("dynamic-label-range", LABELS, "Range of dynamic labels")
            .default("16-1048575"),
        yes("propagate-ttl", "Copy the TTL between packet and label"),
        yes("allow-fast-path", "Allow FastPath"),
        shown(
            "mpls-fast-path-active",
            Kind::Bool,
            "Whether FastPath is in use",
        ),
        shown(
            "mpls-fast-path-packets",
            Kind::COUNTER,
            "Packets by FastPath",
        ),
        shown("mpls-fast-path-bytes", Kind::COUNTER, "Bytes by FastPath"),
    ]],
    old_paths: &["/mpls"],
    ..idle_settings("/mpls/settings", "MPLS settings")
};
