//! `/queue/tree`: hierarchical queues by packet mark.

use menu::{Flag, Kind, Menu, MenuShape, Property};

use super::{COMMANDS, PRIORITY, TYPE, count};
use crate::declare::{list, span};
use crate::fragment::COMMENT_DISABLED;

const PARENT: Kind = Kind::Or(
    &["global", "global-in", "global-out", "global-total"],
    &Kind::Either(
        &Kind::Reference("queue-tree"),
        &Kind::Reference("interface"),
    ),
);

const fn rate(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Rate, help).default("0")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the queue"),
            Property::new("parent", PARENT, "Parent queue or interface").required(),
            list("packet-mark", &Kind::Name, "Marks of packets").default(""),
            rate("limit-at", "Guaranteed rate"),
            Property::new("queue", TYPE, "Type of the queue").default("default-small"),
            Property::new("priority", PRIORITY, "Priority, 1 (highest) to 8").default("8"),
            rate("max-limit", "Maximum rate"),
            rate("burst-limit", "Burst rate"),
            rate("burst-threshold", "Average rate above which bursts end"),
            span("burst-time", "Averaging time of the burst threshold").default("0s"),
            Property::new(
                "bucket-size",
                Kind::Thousandths,
                "Bucket size in seconds of the maximum rate",
            )
            .default("0.1"),
            count("bytes", "Bytes"),
            count("packets", "Packets"),
            count("dropped", "Dropped packets"),
            count("rate", "Current rate in bits per second"),
            count("packet-rate", "Current rate in packets per second"),
            count("queued-packets", "Queued packets"),
            count("queued-bytes", "Queued bytes"),
            count("pcq-queues", "Number of PCQ subqueues"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &[
        "name",
        "parent",
        "packet-mark",
        "limit-at",
        "priority",
        "max-limit",
    ],
    stats: &[
        "name",
        "rate",
        "packet-rate",
        "queued-bytes",
        "bytes",
        "packets",
        "dropped",
    ],
    space: Some("queue-tree"),
    key: Some("name"),
    kind: "queue",
    commands: COMMANDS,
    ..Menu::new("/queue/tree", MenuShape::List, "Queue tree")
};
