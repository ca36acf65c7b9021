//! `/routing/ospf`: OSPF (RFC 2328, 5340).

pub(crate) mod area;
pub(crate) mod instance;
pub(crate) mod interface;
pub(crate) mod interface_template;
pub(crate) mod lsa;
pub(crate) mod nbma_neighbor;
pub(crate) mod neighbor;
pub(crate) mod sham_link;
pub(crate) mod static_neighbor;
pub(crate) mod virtual_link;

use menu::{Kind, OldProperty, Property};

use crate::declare::{between, maybe, optional, reference, seconds};

const TYPES: Kind = Kind::Words(&[
    "broadcast",
    "nbma",
    "ptmp",
    "ptmp-broadcast",
    "ptp",
    "ptp-unnumbered",
    "virtual-link",
]);
const SIGNATURES: Kind = Kind::Words(&["md5", "sha1", "sha256", "sha384", "sha512", "simple"]);

/// The area of an item.
pub(crate) const AREA: Property = reference("area", "ospf-area", "The area");

/// OSPF properties of an interface.
pub(crate) const HOW: &[Property] = &[
    optional("type", TYPES, "Network type"),
    optional("cost", between(0, 65_535), "Cost of the interface"),
    optional(
        "priority",
        between(0, 255),
        "Priority in the election of the designated router",
    ),
    optional("auth", SIGNATURES, "Authentication of messages"),
    optional("auth-id", between(0, 255), "Key ID"),
    optional("auth-key", Kind::Text, "Authentication key").sensitive(),
    optional(
        "instance-id",
        between(0, 255),
        "Instance ID on the link (OSPFv3)",
    ),
    optional(
        "retransmit-interval",
        seconds(1, 65_535),
        "Retransmit interval",
    ),
    optional("transmit-delay", seconds(1, 65_535), "Transmit delay"),
    optional(
        "hello-interval",
        seconds(1, 65_535),
        "Interval of hello messages",
    ),
    optional("dead-interval", seconds(1, 65_535), "Dead interval"),
    maybe("use-bfd", "Monitor neighbours by BFD"),
    optional("passive", Kind::Presence, "Do not send or receive messages"),
];

const fn named(name: &'static str, becomes: &'static str) -> OldProperty {
    OldProperty::renamed(name, becomes)
}

const fn word(old: OldProperty, value: &'static str, with: &'static str) -> OldProperty {
    OldProperty {
        value: Some(value),
        with: Some(with),
        ..old
    }
}

const NETWORK_TYPE: OldProperty = named("network-type", "type");

/// Interface properties of RouterOS 6.
pub(crate) const OLD: &[OldProperty] = &[
    OldProperty {
        value: Some("none"),
        ..named("authentication", "")
    },
    named("authentication", "auth"),
    named("authentication-key", "auth-key"),
    named("authentication-key-id", "auth-id"),
    OldProperty {
        value: Some("default"),
        becomes: "",
        ..NETWORK_TYPE
    },
    word(NETWORK_TYPE, "point-to-point", "ptp"),
    NETWORK_TYPE,
    named("router-dead-interval", "dead-interval"),
];
