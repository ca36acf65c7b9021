//! `/caps-man/configuration`: configuration profiles for CAPs.

use menu::{Kind, Menu, Property, Unique};

use crate::capsman::{channel, configuration, datapath, rates, security};
use crate::declare::{between, named, optional, reference};
use crate::fragment::{COMMENT, idle_list};

const OWN: &[Property] = configuration!("");
const ARP: Kind = Kind::Words(&[
    "disabled",
    "enabled",
    "local-proxy-arp",
    "proxy-arp",
    "reply-only",
]);
const INTERFACE: &[Property] = &[
    optional("datapath.arp", ARP, "Address resolution protocol to use"),
    optional(
        "datapath.mtu",
        between(0, 65_535),
        "Maximum transmission unit of layer 3",
    ),
    optional(
        "datapath.l2mtu",
        between(0, 65_535),
        "Maximum transmission unit of layer 2",
    ),
];
/// Inline channel properties.
pub(crate) const CHANNEL: &[Property] = channel!("channel.");
/// Inline datapath properties.
pub(crate) const DATAPATH: &[Property] = datapath!("datapath.");
/// Inline rate properties.
pub(crate) const RATES: &[Property] = rates!("rates.");
/// Inline security properties.
pub(crate) const SECURITY: &[Property] = security!("security.");
/// References to profiles.
pub(crate) const PROFILES: &[Property] = &[
    reference("channel", "capsman-channel", "Channel").optional(),
    reference("rates", "capsman-rates", "Rates").optional(),
    reference("datapath", "capsman-datapath", "Datapath profile").optional(),
    reference("security", "capsman-security", "Security").optional(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[named("Name of the profile")],
        OWN,
        PROFILES,
        CHANNEL,
        DATAPATH,
        INTERFACE,
        RATES,
        SECURITY,
        &[COMMENT],
    ],
    columns: &["name", "ssid", "security", "datapath", "channel"],
    space: Some("capsman-configuration"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    ..idle_list("/caps-man/configuration", "Configuration profiles for CAPs")
};
