//! `/queue`: bandwidth limits.

pub(crate) mod interface;
pub(crate) mod simple;
pub(crate) mod tree;
pub(crate) mod r#type;

use menu::{Command, Effect, Kind, Property};

use crate::interface::NUMBERS;

/// A queue type.
pub(crate) const TYPE: Kind = Kind::Reference("queue-type");
/// Priority from 1 (highest) to 8.
pub(crate) const PRIORITY: Kind = Kind::Number { min: 1, max: 8 };

/// Commands of queues.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "reset-counters",
        help: "Reset counters of queues",
        arguments: &[NUMBERS],
        effect: Effect::Full,
        repeats: false,
    },
    Command {
        name: "reset-counters-all",
        help: "Reset all counters",
        arguments: &[],
        effect: Effect::Full,
        repeats: false,
    },
];

/// A counter of a queue.
pub(crate) const fn count(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help).stats()
}
