//! `/queue/simple`: simple queues; the first matching queue applies.

use menu::{Family, Flag, Kind, Menu, MenuShape, OldProperty, Property};

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
    list("target", &TARGET, "Networks or interfaces to limit").required(),
    Property::new("dst", TARGET, "Destination network or interface").optional(),
    Property::new(
        "parent",
        Kind::Or(&["none"], &Kind::Reference("queue-simple")),
        "Parent queue",
    )
    .default("none"),
    list("packet-marks", &Kind::Name, "Marks of packets").default(""),
    Property::new(
        "priority",
        Kind::Pair(&PRIORITY),
        "Priority, 1 (highest) to 8",
    )
    .default("8/8"),
    Property::new("queue", Kind::Pair(&TYPE), "Types of the queues")
        .default("default-small/default-small"),
    rates("limit-at", "Guaranteed rates (upload/download)"),
    rates("max-limit", "Maximum rates"),
    rates("burst-limit", "Burst rates"),
    rates("burst-threshold", "Average rates above which bursts end"),
    Property::new(
        "burst-time",
        Kind::Pair(&Kind::SPAN),
        "Averaging time of the burst threshold",
    )
    .default("0s/0s"),
    Property::new(
        "bucket-size",
        Kind::Pair(&Kind::Thousandths),
        "Bucket size in seconds of the maximum rate",
    )
    .default("0.1/0.1"),
];

const TOTAL: &[Property] = &[
    number("total-priority", 1, 8, "Priority, total of both directions")
        .default("8")
        .quiet(),
    Property::new("total-queue", TYPE, "Type of the queue for both directions")
        .default("default-small")
        .quiet(),
    total(
        "total-limit-at",
        "Guaranteed rate, total of both directions",
    ),
    total("total-max-limit", "Maximum rate, total of both directions"),
    total("total-burst-limit", "Burst rate, total of both directions"),
    total(
        "total-burst-threshold",
        "Average rate above which bursts end, total of both directions",
    ),
    span(
        "total-burst-time",
        "Averaging time of the burst threshold, total of both directions",
    )
    .default("0s")
    .quiet(),
    Property::new(
        "total-bucket-size",
        Kind::Thousandths,
        "Bucket size in seconds of the maximum rate",
    )
    .default("0.1")
    .quiet(),
    count("bytes", "Bytes up and down"),
    Property::new(
        "time",
        crate::declare::TIME_OF_WEEK,
        "Time at which the queue is active",
    )
    .optional(),
    count("total-bytes", "Bytes, total of both directions"),
    count("packets", "Packets up and down"),
    count("total-packets", "Packets, total of both directions"),
    count("dropped", "Dropped packets"),
    count("total-dropped", "Dropped packets, total of both directions"),
    count("rate", "Current rate in bits per second"),
    count(
        "total-rate",
        "Current rate in bits per second, total of both directions",
    ),
    count("packet-rate", "Current rate in packets per second"),
    count(
        "total-packet-rate",
        "Current rate in packets per second, total of both directions",
    ),
    count("queued-packets", "Queued packets"),
    count(
        "total-queued-packets",
        "Queued packets, total of both directions",
    ),
    count("queued-bytes", "Queued bytes"),
    count(
        "total-queued-bytes",
        "Queued bytes, total of both directions",
    ),
    count("pcq-queues", "Number of PCQ subqueues"),
    count(
        "total-pcq-queues",
        "PCQ subqueues, total of both directions",
    ),
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
        OldProperty::renamed("target-addresses", "target"),
        OldProperty::renamed("dst-address", "dst"),
        OldProperty::renamed("interface", "target"),
        OldProperty::gone("direction"),
    ],
    ..Menu::new("/queue/simple", MenuShape::Ordered, "Simple queues")
};
