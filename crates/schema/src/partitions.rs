//! `/partitions`: parts of the flash that systems start from.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::short::{COUNT, idle, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the partition"),
        Property::new(
            "fallback-to",
            Kind::Or(&["etherboot", "next"], &Kind::Text),
            "What is started when this can not be",
        )
        .default("next"),
        shown("version", Kind::Text, "Version"),
        shown("size", COUNT, "Size"),
    ]],
    flags: &[Flag::new('A', "active", 0), Flag::new('R', "running", 1)],
    columns: &["name", "fallback-to", "version", "size"],
    key: Some("name"),
    parts: 8,
    commands: &[
        idle("activate", "Start from this partition next", &[]),
        idle("copy-to", "Copy the system to another partition", &[]),
        idle("repartition", "Divide the flash anew", &[]),
        idle(
            "restore-config-from",
            "Take the configuration of another partition",
            &[],
        ),
        idle(
            "save-config-to",
            "Copy the configuration to another partition",
            &[],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/partitions", Shape::Fixed, "Partitions")
};
