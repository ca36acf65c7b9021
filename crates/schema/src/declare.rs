//! The vocabulary of declarations: the types, properties, flags, arguments and commands that many
//! menus have, each under one name.

use menu::{Absent, Argument, Command, Effect, Family, Flag, Kind, Part, Property};

use crate::fragment::SECOND;
pub(crate) use crate::interface::{NUMBERS, ONCE};

// Types.

/// A number between two bounds, both included.
pub(crate) const fn between(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

/// A span of time between two numbers of seconds, both included.
pub(crate) const fn seconds(min: i64, max: i64) -> Kind {
    nanoseconds(min * SECOND, max * SECOND)
}

/// A span of time between two numbers of nanoseconds, both included.
pub(crate) const fn nanoseconds(min: i64, max: i64) -> Kind {
    Kind::Time { min, max }
}

/// Any number of 32 bits.
pub(crate) const U32: Kind = between(0, 4_294_967_295);

/// A TCP or UDP port.
pub(crate) const PORT: Kind = between(0, 65_535);

/// A port or several in a row.
pub(crate) const PORTS: Kind = Kind::Range("-", &PORT);

/// An IPv4 address.
pub(crate) const IPV4: Kind = Kind::Address(Family::V4);

/// An IPv6 address.
pub(crate) const IPV6: Kind = Kind::Address(Family::V6);

/// A host by address or by name.
pub(crate) const HOST: Kind = Kind::Either(&Kind::Address(Family::Any), &Kind::Host);

/// The name of an interface.
pub(crate) const INTERFACE: Kind = Kind::Reference("interface");

/// The name of a list of interfaces.
pub(crate) const INTERFACE_LIST: Kind = Kind::Reference("interface-list");

/// The routing tables and interfaces of a customer.
pub(crate) const VRF: Kind = Kind::Or(&["main"], &Kind::Reference("routing-table"));

/// The same where the VRF may be made later than what is in it, as of interfaces.
pub(crate) const LATER_VRF: Kind = Kind::Or(&["main"], &Kind::Name);

/// Routing tables, each with a distance of its own if one is given.
pub(crate) const TABLES: Kind = Kind::List(&Kind::Parts(&[
    Part::new("", Kind::Name),
    Part::new(":", between(0, 255)).or(Absent::Left),
]));

/// The name of a pool of addresses.
pub(crate) const POOL: Kind = Kind::Reference("pool");

/// The name of a pool of IPv6 prefixes.
pub(crate) const POOL6: Kind = Kind::Reference("ipv6-pool");

/// The words of a certificate that is not named.
const CERTIFICATE: Kind = Kind::Or(&["none"], &Kind::Name);

/// A span of time, or none.
pub(crate) const NONE_OR_SPAN: Kind = Kind::Or(&["none"], &Kind::SPAN);

/// A number of hosts or events, or no such limit.
pub(crate) const HOST_LIMIT: Kind = Kind::Or(&["disabled"], &between(0, 65_535));

/// From one time of the day to another, on some days: `8h-17h,mon,tue`.
pub(crate) const TIME_OF_WEEK: Kind = crate::firewall::TIME;

/// Ways of authentication of PPP.
pub(crate) const PPP_AUTHENTICATION: Kind = Kind::Words(&["chap", "mschap1", "mschap2", "pap"]);

// Properties.

/// A property without a default.
pub(crate) const fn property(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help)
}

/// A property that can be unset.
pub(crate) const fn optional(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help).optional()
}

/// A property with a default.
pub(crate) const fn with_default(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> Property {
    Property::new(name, kind, help).default(default)
}

/// A property that is shown and not set.
pub(crate) const fn shown(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help).read_only()
}

/// A number that is counted.
pub(crate) const fn counter(name: &'static str, help: &'static str) -> Property {
    shown(name, Kind::COUNTER, help)
}

/// The name of the item, without which it is not made.
pub(crate) const fn named(help: &'static str) -> Property {
    Property::new("name", Kind::Name, help).required()
}

/// A switch that is off.
pub(crate) const fn no(name: &'static str, help: &'static str) -> Property {
    with_default(name, Kind::Bool, "no", help)
}

/// A switch that is on.
pub(crate) const fn yes(name: &'static str, help: &'static str) -> Property {
    with_default(name, Kind::Bool, "yes", help)
}

/// `yes`, `no`, or nothing said.
pub(crate) const fn maybe(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Bool, help).optional()
}

/// Free text, empty unless said otherwise.
pub(crate) const fn text(name: &'static str, help: &'static str) -> Property {
    with_default(name, Kind::Text, "", help)
}

/// Free text that may be absent.
pub(crate) const fn optional_text(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help).optional()
}

/// Text that exports hide.
pub(crate) const fn secret(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help)
        .default("")
        .sensitive()
}

/// One of some words.
pub(crate) const fn words(
    name: &'static str,
    words: &'static [&'static str],
    help: &'static str,
) -> Property {
    Property::new(name, Kind::Words(words), help)
}

/// Several values of a type.
pub(crate) const fn list(name: &'static str, kind: &'static Kind, help: &'static str) -> Property {
    Property::new(name, Kind::List(kind), help)
}

/// A property that is a number between two bounds, both included.
pub(crate) const fn number(name: &'static str, min: i64, max: i64, help: &'static str) -> Property {
    Property::new(name, between(min, max), help)
}

/// A property that is any span of time.
pub(crate) const fn span(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::SPAN, help)
}

/// A property that is a span of time between two numbers of milliseconds, both included.
pub(crate) const fn within(
    name: &'static str,
    min_ms: i64,
    max_ms: i64,
    help: &'static str,
) -> Property {
    let kind = nanoseconds(min_ms * 1_000_000, max_ms * 1_000_000);
    Property::new(name, kind, help)
}

/// The name of an item of a space of names.
pub(crate) const fn reference(
    name: &'static str,
    space: &'static str,
    help: &'static str,
) -> Property {
    Property::new(name, Kind::Reference(space), help)
}

/// A hardware address.
pub(crate) const fn mac(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Mac, help)
}

/// An IPv4 address.
pub(crate) const fn ipv4(name: &'static str, help: &'static str) -> Property {
    Property::new(name, IPV4, help)
}

/// An address of either family.
pub(crate) const fn address(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Address(Family::Any), help)
}

/// A certificate by its name, or none.
pub(crate) const fn certificate(name: &'static str, help: &'static str) -> Property {
    Property::new(name, CERTIFICATE, help).default("none")
}

/// The VRF that something is in.
pub(crate) const IN_VRF: Property =
    Property::new("vrf", VRF, "The VRF that it is in").default("main");

/// Whether the item counts, where there are no comments.
pub(crate) const DISABLED_SWITCH: Property =
    no("disabled", "Defines whether item is ignored or used");

/// The same as a list of properties.
pub(crate) const ONLY_DISABLED: &[Property] = &[DISABLED_SWITCH];

// Flags.

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

// Arguments.

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

/// An argument that a command needs.
pub(crate) const fn required_argument(
    name: &'static str,
    kind: Kind,
    help: &'static str,
) -> Argument {
    Argument {
        required: true,
        ..argument(name, kind, help)
    }
}

/// An argument that may be left out, and stand without its name.
pub(crate) const fn unnamed_argument(
    name: &'static str,
    kind: Kind,
    help: &'static str,
) -> Argument {
    Argument {
        unnamed: true,
        ..argument(name, kind, help)
    }
}

/// One item.
pub(crate) const NUMBER: Argument = required_argument("number", Kind::Text, "Item number");

/// Adds to the file.
pub(crate) const APPEND: Argument = argument("append", Kind::Presence, "Append to the file");

/// Gives the result as a value.
pub(crate) const AS_VALUE: Argument =
    argument("as-value", Kind::Presence, "Give the result as a value");

/// Code to run for each result.
pub(crate) const DO: Argument = argument("do", Kind::Text, "Script to run for each result");

/// How long it goes on.
pub(crate) const DURATION: Argument = argument("duration", Kind::SPAN, "How long to go on");

/// The file that the output goes to.
pub(crate) const FILE: Argument = argument("file", Kind::Text, "File to write the output to");

/// How often the screen is drawn.
pub(crate) const FREEZE: Argument = argument(
    "freeze-frame-interval",
    Kind::SPAN,
    "How long a page is shown",
);

/// The time between two results.
pub(crate) const INTERVAL: Argument = argument("interval", Kind::SPAN, "Time between two results");

/// Which properties are shown.
pub(crate) const PROPLIST: Argument = argument("proplist", Kind::Text, "Properties to show");

/// Shows all at once.
pub(crate) const WITHOUT_PAGING: Argument =
    argument("without-paging", Kind::Presence, "Do not stop after a page");

/// The arguments of a command that shows settings until it is stopped.
pub(crate) const MONITORED: &[Argument] = &[
    APPEND,
    AS_VALUE,
    DO,
    DURATION,
    FILE,
    FREEZE,
    INTERVAL,
    ONCE,
    PROPLIST,
    WITHOUT_PAGING,
];

/// The same of a command that shows items.
pub(crate) const MONITORED_ITEMS: &[Argument] = &[
    APPEND,
    AS_VALUE,
    DO,
    DURATION,
    FILE,
    FREEZE,
    INTERVAL,
    NUMBERS,
    ONCE,
    PROPLIST,
    WITHOUT_PAGING,
];

// Commands.

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

/// A command for items.
pub(crate) const fn on_items(name: &'static str, help: &'static str) -> Command {
    command(name, help, &[NUMBERS])
}

/// A command that is known and does nothing here.
pub(crate) const fn idle_command(
    name: &'static str,
    help: &'static str,
    arguments: &'static [Argument],
) -> Command {
    Command {
        effect: Effect::None,
        ..command(name, help, arguments)
    }
}
