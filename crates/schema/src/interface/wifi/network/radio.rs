//! `/interface/wifi/network/radio`: settings of radios with certain labels.

use menu::{Kind, Menu, Property};

use crate::declare::{between, list, optional};
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::interface::wifi::configuration::CHANNEL;
use crate::radio::CHAINS;
use crate::wifi::AUTHENTICATION;

const OWN: &[Property] = &[
    list("labels", &Kind::Name, "Labels of the radios").optional(),
    list("extra-labels", &Kind::Name, "Additional labels").optional(),
    optional("configuration.antenna-gain", between(0, 30), "Gain in dBi"),
    list("configuration.chains", &CHAINS, "Antennas").optional(),
    optional(
        "configuration.country",
        Kind::Name,
        "Country whose regulations apply",
    ),
    optional(
        "configuration.distance",
        between(0, 1_000),
        "Maximum distance of clients in km",
    ),
    optional(
        "configuration.installation",
        Kind::Words(&["any", "indoor", "outdoor"]),
        "Where",
    ),
    list("configuration.tx-chains", &CHAINS, "Antennas for sending").optional(),
    optional("configuration.tx-power", between(0, 40), "Power in dBm"),
    list(
        "security.authentication-types",
        &AUTHENTICATION,
        "Authentication types",
    )
    .optional(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[OWN, CHANNEL, COMMENT_SAID],
    flags: DISABLED_DYNAMIC,
    columns: &["labels", "channel.band", "channel.frequency"],
    ..idle_list(
        "/interface/wifi/network/radio",
        "Settings of labelled radios",
    )
};
