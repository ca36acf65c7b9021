//! Short forms of what declarations say often.

use menu::{Absent, Argument, Command, Effect, Family, Flag, Kind, Part, Property};

/// Seconds as nanoseconds.
const SECOND: i64 = crate::fragment::SECOND;

/// A TCP or UDP port.
pub(crate) const PORT: Kind = number(0, 65_535);
/// A port or several in a row.
pub(crate) const PORTS: Kind = Kind::Range("-", &PORT);
/// An IPv4 address.
pub(crate) const IPV4: Kind = Kind::Address(Family::V4);
/// An IPv6 address.
pub(crate) const IPV6: Kind = Kind::Address(Family::V6);
/// The name of an interface.
pub(crate) const INTERFACE: Kind = Kind::Reference("interface");
/// The name of a list of interfaces.
pub(crate) const INTERFACE_LIST: Kind = Kind::Reference("interface-list");
/// Any number of 32 bits.
pub(crate) const U32: Kind = number(0, 4_294_967_295);
/// A span of time, or none.
pub(crate) const NONE_OR_SPAN: Kind = Kind::Or(&["none"], &Kind::SPAN);
/// Routing tables, each with a distance of its own if one is given.
pub(crate) const TABLES: Kind = Kind::List(&Kind::Parts(&[
    Part::new("", Kind::Name),
    Part::new(":", number(0, 255)).or(Absent::Left),
]));
/// The letter of items that do not count.
pub(crate) const DISABLED: &[Flag] = &[Flag::new('X', "disabled", 0)];
/// The letters of items that do not count, or cannot.
pub(crate) const DISABLED_INVALID: &[Flag] =
    &[Flag::new('X', "disabled", 0), Flag::new('I', "invalid", 0)];
/// The letters of what users disable and the router makes by itself.
pub(crate) const DISABLED_DYNAMIC: &[Flag] =
    &[Flag::new('X', "disabled", 0), Flag::new('D', "dynamic", 1)];
/// The letters of clients and the like.
pub(crate) const DISABLED_INVALID_DYNAMIC: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('I', "invalid", 0),
    Flag::new('D', "dynamic", 0),
];
/// The letters of rules and the like.
pub(crate) const RULE_FLAGS: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('I', "invalid", 0),
    Flag::new('D', "dynamic", 1),
];
/// The letter of the item that exists from the start.
pub(crate) const DEFAULT: &[Flag] = &[Flag::new('*', "default", 0)];

/// Whether the item counts, where there are no comments.
pub(crate) const ONLY_DISABLED: &[Property] =
    &[no("disabled", "Defines whether item is ignored or used")];

/// A number between two bounds, both included.
pub(crate) const fn number(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

/// A span of time between two numbers of seconds, both included.
pub(crate) const fn seconds(min: i64, max: i64) -> Kind {
    Kind::Time {
        min: min * SECOND,
        max: max * SECOND,
    }
}

/// A property without default or duty.
pub(crate) const fn some(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help)
}

/// A property that can be unset.
pub(crate) const fn may(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help).optional()
}

/// A property with a default.
pub(crate) const fn with(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> Property {
    Property::new(name, kind, help).default(default)
}

/// A switch that is off.
pub(crate) const fn no(name: &'static str, help: &'static str) -> Property {
    with(name, Kind::Bool, "no", help)
}

/// A switch that is on.
pub(crate) const fn yes(name: &'static str, help: &'static str) -> Property {
    with(name, Kind::Bool, "yes", help)
}

/// Free text, empty unless said otherwise.
pub(crate) const fn text(name: &'static str, help: &'static str) -> Property {
    with(name, Kind::Text, "", help)
}

/// The name of the item, without which it is not made.
pub(crate) const fn named(help: &'static str) -> Property {
    Property::new("name", Kind::Name, help).required()
}

/// A property that is shown and not set.
pub(crate) const fn read(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help).read_only()
}

/// A number that is counted.
pub(crate) const fn count(name: &'static str, help: &'static str) -> Property {
    read(name, Kind::COUNTER, help)
}

/// Items of a command.
const NUMBERS: &[Argument] = &[crate::interface::NUMBERS];

/// A command for items.
pub(crate) const fn on_items(name: &'static str, help: &'static str) -> Command {
    command(name, help, NUMBERS)
}

/// A command with arguments.
pub(crate) const fn command(
    name: &'static str,
    help: &'static str,
    arguments: &'static [Argument],
) -> Command {
    Command {
        name,
        help,
        arguments,
        effect: Effect::Full,
        repeats: false,
    }
}

/// An argument that may be left out.
pub(crate) const fn argument(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        name,
        kind,
        help,
        required: false,
        unnamed: false,
    }
}
