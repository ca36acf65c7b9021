//! Building blocks of declarations: types, properties, flags, arguments and commands that many menus share.

use menu::{Absent, Argument, Command, Effect, Family, Flag, Kind, Part, Property};

use crate::fragment::SECOND;
pub(crate) use crate::interface::{NUMBERS, ONCE};

// Types.

/// A number between two inclusive bounds.
pub(crate) const fn between(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

/// A duration between two inclusive bounds in seconds.
pub(crate) const fn seconds(min: i64, max: i64) -> Kind {
    nanoseconds(min * SECOND, max * SECOND)
}

/// A duration between two inclusive bounds in nanoseconds.
pub(crate) const fn nanoseconds(min: i64, max: i64) -> Kind {
    Kind::Time { min, max }
}

/// An unsigned 32-bit number.
pub(crate) const U32: Kind = between(0, 4_294_967_295);

/// A TCP or UDP port.
pub(crate) const PORT: Kind = between(0, 65_535);

/// A port or a port range.
pub(crate) const PORTS: Kind = Kind::Range("-", &PORT);

/// An IPv4 address.
pub(crate) const IPV4: Kind = Kind::Address(Family::V4);

/// An IPv6 address.
pub(crate) const IPV6: Kind = Kind::Address(Family::V6);

/// A host by IP address or name.
pub(crate) const HOST: Kind = Kind::Either(&Kind::Address(Family::Any), &Kind::Host);

/// The name of an interface.
pub(crate) const INTERFACE: Kind = Kind::Reference("interface");

/// The name of an interface list.
pub(crate) const INTERFACE_LIST: Kind = Kind::Reference("interface-list");

/// A VRF.
pub(crate) const VRF: Kind = Kind::Or(&["main"], &Kind::Reference("routing-table"));

/// A VRF by name that need not exist yet, for interfaces that are added before their VRF.
pub(crate) const LATER_VRF: Kind = Kind::Or(&["main"], &Kind::Name);

/// Routing tables, each with an optional distance.
pub(crate) const TABLES: Kind = Kind::List(&Kind::Parts(&[
    Part::new("", Kind::Name),
    Part::new(":", between(0, 255)).or(Absent::Left),
]));

/// The name of an address pool.
pub(crate) const POOL: Kind = Kind::Reference("pool");

/// The name of an IPv6 prefix pool.
pub(crate) const POOL6: Kind = Kind::Reference("ipv6-pool");

/// The name of a certificate, or none.
const CERTIFICATE: Kind = Kind::Or(&["none"], &Kind::Name);

/// A duration, or none.
pub(crate) const NONE_OR_SPAN: Kind = Kind::Or(&["none"], &Kind::SPAN);

/// A number of hosts or events, or no limit.
pub(crate) const HOST_LIMIT: Kind = Kind::Or(&["disabled"], &between(0, 65_535));

/// A time interval on weekdays: `8h-17h,mon,tue`.
pub(crate) const TIME_OF_WEEK: Kind = crate::firewall::TIME;

/// PPP authentication methods.
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

/// A read-only property.
pub(crate) const fn shown(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help).read_only()
}

/// A read-only counter.
pub(crate) const fn counter(name: &'static str, help: &'static str) -> Property {
    shown(name, Kind::COUNTER, help)
}

/// The required name of an item.
pub(crate) const fn named(help: &'static str) -> Property {
    Property::new("name", Kind::Name, help).required()
}

/// A Boolean property, off by default.
pub(crate) const fn no(name: &'static str, help: &'static str) -> Property {
    with_default(name, Kind::Bool, "no", help)
}

/// A Boolean property, on by default.
pub(crate) const fn yes(name: &'static str, help: &'static str) -> Property {
    with_default(name, Kind::Bool, "yes", help)
}

/// A Boolean property that may be unset.
pub(crate) const fn maybe(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Bool, help).optional()
}

/// A text property, empty by default.
pub(crate) const fn text(name: &'static str, help: &'static str) -> Property {
    with_default(name, Kind::Text, "", help)
}

/// A text property that may be unset.
pub(crate) const fn optional_text(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help).optional()
}

/// A text property that exports hide.
pub(crate) const fn secret(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help)
        .default("")
        .sensitive()
}

/// A property with one of several words.
pub(crate) const fn words(
    name: &'static str,
    words: &'static [&'static str],
    help: &'static str,
) -> Property {
    Property::new(name, Kind::Words(words), help)
}

/// A property with a list of values.
pub(crate) const fn list(name: &'static str, kind: &'static Kind, help: &'static str) -> Property {
    Property::new(name, Kind::List(kind), help)
}

/// A property with a number between two inclusive bounds.
pub(crate) const fn number(name: &'static str, min: i64, max: i64, help: &'static str) -> Property {
    Property::new(name, between(min, max), help)
}

/// A property with a duration.
pub(crate) const fn span(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::SPAN, help)
}

/// A property with a duration between two inclusive bounds in milliseconds.
pub(crate) const fn within(
    name: &'static str,
    min_ms: i64,
    max_ms: i64,
    help: &'static str,
) -> Property {
    let kind = nanoseconds(min_ms * 1_000_000, max_ms * 1_000_000);
    Property::new(name, kind, help)
}

/// A property that refers to an item in a name space.
pub(crate) const fn reference(
    name: &'static str,
    space: &'static str,
    help: &'static str,
) -> Property {
    Property::new(name, Kind::Reference(space), help)
}

/// A property with a MAC address.
pub(crate) const fn mac(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Mac, help)
}

/// A property with an IPv4 address.
pub(crate) const fn ipv4(name: &'static str, help: &'static str) -> Property {
    Property::new(name, IPV4, help)
}

/// A property with an IPv4 or IPv6 address.
pub(crate) const fn address(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Address(Family::Any), help)
}

/// A property that names a certificate; `none` by default.
pub(crate) const fn certificate(name: &'static str, help: &'static str) -> Property {
    Property::new(name, CERTIFICATE, help).default("none")
}

/// The VRF of an item.
pub(crate) const IN_VRF: Property = Property::new("vrf", VRF, "The VRF").default("main");

/// The `disabled` property, for menus without comments.
pub(crate) const DISABLED_SWITCH: Property =
    no("disabled", "Defines whether item is ignored or used");

/// The `disabled` property as a fragment.
pub(crate) const ONLY_DISABLED: &[Property] = &[DISABLED_SWITCH];

// Flags.

/// Flag of disabled items.
pub(crate) const DISABLED: &[Flag] = &[Flag::new('X', "disabled", 0)];

/// Flags of disabled and invalid items.
pub(crate) const DISABLED_INVALID: &[Flag] =
    &[Flag::new('X', "disabled", 0), Flag::new('I', "invalid", 0)];

/// Flags of disabled and dynamic items.
pub(crate) const DISABLED_DYNAMIC: &[Flag] =
    &[Flag::new('X', "disabled", 0), Flag::new('D', "dynamic", 1)];

/// Flags of disabled, invalid and dynamic items in one column.
pub(crate) const DISABLED_INVALID_DYNAMIC: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('I', "invalid", 0),
    Flag::new('D', "dynamic", 0),
];

/// Flags of rules.
pub(crate) const RULE_FLAGS: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('I', "invalid", 0),
    Flag::new('D', "dynamic", 1),
];

/// Flag of the default item.
pub(crate) const DEFAULT: &[Flag] = &[Flag::new('*', "default", 0)];

// Arguments.

/// An optional argument.
pub(crate) const fn argument(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        name,
        kind,
        help,
        required: false,
        unnamed: false,
    }
}

/// A required argument.
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

/// An optional argument that may stand without its name.
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

/// Selects one item.
pub(crate) const NUMBER: Argument = required_argument("number", Kind::Text, "Item number");

/// Appends to the file.
pub(crate) const APPEND: Argument = argument("append", Kind::Presence, "Append to the file");

/// Returns the result as a value.
pub(crate) const AS_VALUE: Argument =
    argument("as-value", Kind::Presence, "Return the result as a value");

/// Script code to run for each result.
pub(crate) const DO: Argument = argument("do", Kind::Text, "Script to run for each result");

/// Duration of a repeating command.
pub(crate) const DURATION: Argument = argument("duration", Kind::SPAN, "Duration of the command");

/// Output file.
pub(crate) const FILE: Argument = argument("file", Kind::Text, "File to write the output to");

/// Time for which a page is shown.
pub(crate) const FREEZE: Argument = argument(
    "freeze-frame-interval",
    Kind::SPAN,
    "Interval at which the page is refreshed",
);

/// Interval between results.
pub(crate) const INTERVAL: Argument = argument("interval", Kind::SPAN, "Interval between results");

/// Properties to show.
pub(crate) const PROPLIST: Argument = argument("proplist", Kind::Text, "Properties to show");

/// Disables the pager.
pub(crate) const WITHOUT_PAGING: Argument = argument(
    "without-paging",
    Kind::Presence,
    "Print all without pausing after a page",
);

/// Arguments of a `monitor` command for settings.
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

/// Arguments of a `monitor` command for items.
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

/// A command on items.
pub(crate) const fn on_items(name: &'static str, help: &'static str) -> Command {
    command(name, help, &[NUMBERS])
}

/// A command without effect.
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
