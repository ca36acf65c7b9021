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
            rate("burst-limit", "Rate of a burst"),
            rate("burst-threshold", "Average rate at which a burst ends"),
            span("burst-time", "Time of that average").default("0s"),
            Property::new(
                "bucket-size",
                Kind::Thousandths,
                "Seconds that may be saved up",
            )
            .default("0.1"),
            count("bytes", "Bytes"),
            count("packets", "Packets"),
            count("dropped", "Packets that were dropped"),
            count("rate", "Bits a second at present"),
            count("packet-rate", "Packets a second at present"),
            count("queued-packets", "Packets that wait"),
            count("queued-bytes", "Bytes that wait"),
            count("pcq-queues", "Queues within PCQ"),
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
    ..Menu::new("/queue/tree", MenuShape::List, "Tree of queues")
};
