//! `/ip/pool`: address pools.

pub(crate) mod used;

use menu::{Family, Kind, Menu, MenuShape, Property};

use crate::declare::{counter, property, with_default};
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the pool"),
        property(
            "ranges",
            Kind::List(&Kind::Addresses(Family::V4)),
            "Address ranges",
        )
        .required(),
        with_default(
            "next-pool",
            Kind::Or(&["none"], &Kind::Reference("pool")),
            "none",
            "Next pool when this pool is exhausted",
        )
        .quiet(),
        counter("total", "Addresses in the pool"),
        counter("used", "Number of addresses in use"),
        counter("available", "Number of available addresses"),
        COMMENT,
    ]],
    columns: &["name", "ranges", "next-pool", "total", "used", "available"],
    space: Some("pool"),
    key: Some("name"),
    kind: "pool",
    ..Menu::new("/ip/pool", MenuShape::List, "IP address pools")
};
