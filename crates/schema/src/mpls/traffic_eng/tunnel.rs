//! `/mpls/traffic-eng/tunnel`: traffic engineering tunnels.

use menu::{Family, Kind, Menu, Property};

use super::AFFINITY;
use crate::declare::{VRF, between, list, maybe, named, optional, reference, seconds, span};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};
use crate::interface::idle_command;

const FROM: Kind = Kind::Or(&["auto"], &Kind::Address(Family::V4));
const RANGE: Kind = Kind::Range("-", &Kind::Rate);
const PATH: Kind = Kind::Reference("tunnel-path");

const OWN: &[Property] = &[
    named("Name of the tunnel"),
    Property::new(
        "to-address",
        Kind::Address(Family::V4),
        "Destination address",
    )
    .required(),
    optional("from-address", FROM, "Source address"),
    optional("vrf", VRF, "The VRF"),
    reference("primary-path", "tunnel-path", "Primary path").optional(),
    list("secondary-paths", &PATH, "Secondary paths").optional(),
    span(
        "primary-retry-interval",
        "Time after which the primary path is tried again",
    )
    .optional(),
    maybe("secondary-standby", "Keep a secondary path ready"),
    optional("bandwidth", Kind::Rate, "Bandwidth of the tunnel"),
    optional(
        "bandwidth-limit",
        Kind::Or(&["disabled"], &between(0, 1_000)),
        "Bandwidth limit in percent of the reserved bandwidth",
    ),
    optional(
        "auto-bandwidth-range",
        Kind::Or(&["disabled"], &RANGE),
        "Minimum and maximum of the automatic bandwidth",
    ),
    optional(
        "auto-bandwidth-reserve",
        between(0, 1_000),
        "Reserve above the measured bandwidth in percent",
    ),
    optional(
        "auto-bandwidth-avg-interval",
        seconds(1, 42_949_672),
        "Averaging time of the automatic bandwidth",
    ),
    optional(
        "auto-bandwidth-update-interval",
        seconds(60, 42_949_672),
        "Update interval of the bandwidth",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[OWN, AFFINITY, COMMENT_SAID],
    flags: DISABLED_INVALID,
    columns: &["name", "to-address", "bandwidth", "primary-path"],
    key: Some("name"),
    commands: &[idle_command("reoptimize", "Search for better paths")],
    ..idle_list("/mpls/traffic-eng/tunnel", "Traffic engineering tunnels")
};
