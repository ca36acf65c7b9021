//! `/system/resource`: hardware resources and their use.

use menu::{Kind, Menu, MenuShape, Property};

const TEXT: Kind = Kind::Text;
const BYTES: Kind = Kind::COUNTER;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("uptime", Kind::SPAN, "Time since the start").read_only(),
        Property::new("version", TEXT, "Version of the configuration language").read_only(),
        Property::new("build-time", TEXT, "Build time of the program").read_only(),
        Property::new("free-memory", BYTES, "Free memory")
            .read_only()
            .unit("B"),
        Property::new("total-memory", BYTES, "Memory of the machine")
            .read_only()
            .unit("B"),
        Property::new("cpu", TEXT, "Model of the processor").read_only(),
        Property::new("cpu-count", Kind::COUNTER, "Number of cores").read_only(),
        Property::new("cpu-frequency", Kind::COUNTER, "Clock of the processor")
            .read_only()
            .unit("MHz"),
        Property::new("cpu-load", Kind::COUNTER, "Load of the processor")
            .read_only()
            .unit("%"),
        Property::new(
            "free-hdd-space",
            BYTES,
            "Free space on the disk with the router's state",
        )
        .read_only()
        .unit("B"),
        Property::new(
            "total-hdd-space",
            BYTES,
            "Size of the disk with the router's state",
        )
        .read_only()
        .unit("B"),
        Property::new(
            "write-sect-since-reboot",
            Kind::COUNTER,
            "Sectors written by the router since its start",
        )
        .read_only(),
        Property::new(
            "write-sect-total",
            Kind::COUNTER,
            "Sectors written to the disk with the router's state",
        )
        .read_only(),
        Property::new("architecture-name", TEXT, "Architecture of the processor").read_only(),
        Property::new("board-name", TEXT, "Model of the machine").read_only(),
        Property::new("platform", TEXT, "Maker of the platform").read_only(),
    ]],
    ..Menu::new("/system/resource", MenuShape::Status, "System resources")
};
