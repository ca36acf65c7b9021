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

use menu::{Kind, Old, Property};

use crate::brief::{may, number, seconds};
use crate::terms::{maybe, refer};

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

/// The area that an item is in.
pub(crate) const AREA: Property = refer("area", "ospf-area", "The area");

/// How neighbours on an interface are spoken to.
pub(crate) const HOW: &[Property] = &[
    may("type", TYPES, "What kind of network it is"),
    may(
        "cost",
        number(0, 65_535),
        "Cost of the way over the interface",
    ),
    may(
        "priority",
        number(0, 255),
        "Who becomes the designated router",
    ),
    may("auth", SIGNATURES, "How messages are signed"),
    may("auth-id", number(0, 255), "Number of the key"),
    may("auth-key", Kind::Text, "The key").sensitive(),
    may(
        "instance-id",
        number(0, 255),
        "Number of the instance on the link",
    ),
    may(
        "retransmit-interval",
        seconds(1, 65_535),
        "When a message is sent again",
    ),
    may(
        "transmit-delay",
        seconds(1, 65_535),
        "How long a message is under way",
    ),
    may(
        "hello-interval",
        seconds(1, 65_535),
        "How often neighbours are greeted",
    ),
    may(
        "dead-interval",
        seconds(1, 65_535),
        "After which silence they are gone",
    ),
    maybe("use-bfd", "Watches neighbours by BFD"),
    may("passive", Kind::Presence, "Speaks to nobody"),
];

const fn named(name: &'static str, becomes: &'static str) -> Old {
    Old::renamed(name, becomes)
}

const fn word(old: Old, value: &'static str, with: &'static str) -> Old {
    Old {
        value: Some(value),
        with: Some(with),
        ..old
    }
}

const NETWORK_TYPE: Old = named("network-type", "type");

/// What version 6 said of interfaces.
pub(crate) const OLD: &[Old] = &[
    Old {
        value: Some("none"),
        ..named("authentication", "")
    },
    named("authentication", "auth"),
    named("authentication-key", "auth-key"),
    named("authentication-key-id", "auth-id"),
    Old {
        value: Some("default"),
        becomes: "",
        ..NETWORK_TYPE
    },
    word(NETWORK_TYPE, "point-to-point", "ptp"),
    NETWORK_TYPE,
    named("router-dead-interval", "dead-interval"),
];
