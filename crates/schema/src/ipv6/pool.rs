//! `/ipv6/pool`: IPv6 prefix pools.

pub(crate) mod used;

use menu::{Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{between, optional, property, shown};
use crate::fragment::COMMENT;

const PREFIX: Kind = Kind::Prefix(Family::V6);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the pool"),
        optional("prefix", PREFIX, "The prefix"),
        property(
            "prefix-length",
            between(1, 128),
            "Length of assigned prefixes",
        )
        .required(),
        optional(
            "from-pool",
            Kind::Name,
            "Pool from which the prefix is taken",
        )
        .inert(),
        shown("actual-prefix", PREFIX, "The prefix in use"),
        shown("valid-lifetime", Kind::SPAN, "Valid lifetime of the prefix"),
        shown(
            "preferred-lifetime",
            Kind::SPAN,
            "Preferred lifetime of the prefix",
        ),
        COMMENT,
    ]],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('I', "inactive", 1)],
    columns: &["name", "prefix", "prefix-length", "valid-lifetime"],
    space: Some("ipv6-pool"),
    key: Some("name"),
    kind: "pool",
    ..Menu::new("/ipv6/pool", MenuShape::List, "IPv6 prefix pools")
};
