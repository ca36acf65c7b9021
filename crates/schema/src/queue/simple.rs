//! `/queue/simple`: simple queues; the first matching queue applies.

use menu::{Family, Flag, Kind, Menu, Old, Property, Shape};

use super::{COMMANDS, PRIORITY, TYPE, count};
use crate::declare::{list, number, span};
use crate::fragment::COMMENT_DISABLED;

const TARGET: Kind = Kind::Either(&Kind::Prefix(Family::Any), &Kind::Reference("interface"));
const RATES: Kind = Kind::Pair(&Kind::Rate);

const fn rates(name: &'static str, help: &'static str) -> Property {
    Property::new(name, RATES, help).default("0/0")
}

const fn total(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Rate, help).default("0").quiet()
}

const EACH: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the queue"),
    list("target", &TARGET, "Networks or interfaces that are limited").required(),
    Property::new("dst", TARGET, "Where to or from").optional(),
    Property::new(
        "parent",
        Kind::Or(&["none"], &Kind::Reference("queue-simple")),
        "Its parent",
    )
    .default("none"),
    list("packet-marks", &Kind::Name, "Marks of packets").default(""),
    Property::new("priority", Kind::Pair(&PRIORITY), "Who comes first").default("8/8"),
    Property::new("queue", Kind::Pair(&TYPE), "Types of the queues")
        .default("default-small/default-small"),
    rates("limit-at", "Rates that are kept free"),
    rates("max-limit", "Rates that are not exceeded"),
    rates("burst-limit", "Rates of a burst"),
    rates("burst-threshold", "Average rates at which a burst ends"),
    Property::new(
        "burst-time",
        Kind::Pair(&Kind::SPAN),
        "Time of that average",
    )
    .default("0s/0s"),
    Property::new(
        "bucket-size",
        Kind::Pair(&Kind::Thousandths),
        "Seconds that may be saved up",
    )
    .default("0.1/0.1"),
];

const TOTAL: &[Property] = &[
    number("total-priority", 1, 8, "Who comes first, both ways")
        .default("8")
        .quiet(),
    Property::new("total-queue", TYPE, "Type of the queue for both ways")
        .default("default-small")
        .quiet(),
    total("total-limit-at", "Rate that is kept free, both ways"),
    total("total-max-limit", "Rate that is not exceeded, both ways"),
    total("total-burst-limit", "Rate of a burst, both ways"),
    total(
        "total-burst-threshold",
        "Average rate at which a burst ends, both ways",
    ),
    span("total-burst-time", "Time of that average, both ways")
        .default("0s")
        .quiet(),
    Property::new(
        "total-bucket-size",
        Kind::Thousandths,
        "Seconds that may be saved up",
    )
    .default("0.1")
    .quiet(),
    count("bytes", "Bytes up and down"),
    Property::new(
        "time",
        crate::declare::TIME_OF_WEEK,
        "When the queue counts",
    )
    .optional(),
    count("total-bytes", "Bytes both ways"),
    count("packets", "Packets up and down"),
    count("total-packets", "Packets both ways"),
    count("dropped", "Packets that were dropped"),
    count("total-dropped", "Packets that were dropped, both ways"),
    count("rate", "Bits a second at present"),
    count("total-rate", "Bits a second at present, both ways"),
    count("packet-rate", "Packets a second at present"),
    count(
        "total-packet-rate",
        "Packets a second at present, both ways",
    ),
    count("queued-packets", "Packets that wait"),
    count("total-queued-packets", "Packets that wait, both ways"),
    count("queued-bytes", "Bytes that wait"),
    count("total-queued-bytes", "Bytes that wait, both ways"),
    count("pcq-queues", "Queues within PCQ"),
    count("total-pcq-queues", "Queues within PCQ, both ways"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[EACH, TOTAL, COMMENT_DISABLED],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &["name", "target", "max-limit"],
    stats: &[
        "name",
        "target",
        "rate",
        "packet-rate",
        "queued-bytes",
        "bytes",
        "packets",
        "dropped",
    ],
    space: Some("queue-simple"),
    key: Some("name"),
    kind: "queue",
    commands: COMMANDS,
    old: &[
        Old::renamed("target-addresses", "target"),
        Old::renamed("dst-address", "dst"),
        Old::renamed("interface", "target"),
        Old::gone("direction"),
    ],
    ..Menu::new("/queue/simple", Shape::Ordered, "Simple queues")
};
