//! `/ip/pool`: addresses to give out.

pub(crate) mod used;

use menu::{Effect, Family, Kind, Menu, Property, Shape};

use crate::brief::{count, some, with};
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the pool"),
        some(
            "ranges",
            Kind::List(&Kind::Addresses(Family::V4)),
            "The addresses",
        )
        .required(),
        with(
            "next-pool",
            Kind::Or(&["none"], &Kind::Reference("pool")),
            "none",
            "The pool that addresses come from when this one is empty",
        )
        .quiet(),
        count("total", "Addresses in the pool"),
        count("used", "Addresses that are given out"),
        count("available", "Addresses that are left"),
        COMMENT,
    ]],
    columns: &["name", "ranges", "next-pool", "total", "used", "available"],
    space: Some("pool"),
    key: Some("name"),
    kind: "pool",
    effect: Effect::None,
    ..Menu::new("/ip/pool", Shape::List, "IP address pools")
};
