//! Short spellings of what declarations say often.

use menu::{Argument, Command, Effect, Kind, Property};

pub(crate) use crate::interface::{NUMBERS, ONCE};

/// An integer between two bounds, both included.
pub(crate) const fn between(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

/// A TCP or UDP port.
pub(crate) const PORT: Kind = between(0, 65_535);

/// A counter that never shrinks.
pub(crate) const COUNT: Kind = between(0, u32::MAX as i64);

/// A span of time between two bounds in nanoseconds.
pub(crate) const fn span(min: i64, max: i64) -> Kind {
    Kind::Time { min, max }
}

/// A yes or no with its default.
pub(crate) const fn switch(
    name: &'static str,
    default: &'static str,
    help: &'static str,
) -> Property {
    Property::new(name, Kind::Bool, help).default(default)
}

/// Free text, empty by default.
pub(crate) const fn text(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help).default("")
}

/// A name that an item must have.
pub(crate) const fn name(help: &'static str) -> Property {
    Property::new("name", Kind::Name, help).required()
}

/// A value that is shown only.
pub(crate) const fn shown(name: &'static str, kind: Kind, help: &'static str) -> Property {
    Property::new(name, kind, help).read_only()
}

/// A reference to an interface, or none of them.
pub(crate) const fn interface_or_none(name: &'static str, help: &'static str) -> Property {
    Property::new(
        name,
        Kind::Or(&["none"], &Kind::Reference("interface")),
        help,
    )
    .default("none")
}

/// A reference to a certificate, or none.
pub(crate) const fn certificate(name: &'static str, help: &'static str) -> Property {
    Property::new(
        name,
        Kind::Or(&["none"], &Kind::Reference("certificate")),
        help,
    )
    .default("none")
}

/// The VRF that a service of the router is in.
pub(crate) const VRF: Property = Property::new(
    "vrf",
    Kind::Name,
    "The VRF in which the connection is made or taken",
)
.default("main");

/// An argument that a command needs.
pub(crate) const fn need(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        name,
        kind,
        help,
        required: true,
    }
}

/// An argument that may be left out.
pub(crate) const fn may(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        name,
        kind,
        help,
        required: false,
    }
}

/// A command that is known and does nothing here.
pub(crate) const fn idle(
    name: &'static str,
    help: &'static str,
    arguments: &'static [Argument],
) -> Command {
    Command {
        name,
        help,
        arguments,
        effect: Effect::None,
    }
}

/// Whether an item of a list without comments counts.
pub(crate) const DISABLED: Property =
    switch("disabled", "no", "Defines whether item is ignored or used");

/// What commands take that show something until they are stopped.
pub(crate) const APPEND: Argument = may("append", Kind::Presence, "Append to the file");
/// Gives the result as a value.
pub(crate) const AS_VALUE: Argument = may("as-value", Kind::Presence, "Give the result as a value");
/// Code to run for each result.
pub(crate) const DO: Argument = may("do", Kind::Text, "Script to run for each result");
/// How long it goes on.
pub(crate) const DURATION: Argument = may("duration", Kind::SPAN, "How long to go on");
/// Where the output goes.
pub(crate) const FILE: Argument = may("file", Kind::Text, "File to write the output to");
/// How often the screen is drawn.
pub(crate) const FREEZE: Argument = may(
    "freeze-frame-interval",
    Kind::SPAN,
    "How long a page is shown",
);
/// How often it is done.
pub(crate) const INTERVAL: Argument = may("interval", Kind::SPAN, "Time between two results");
/// Which properties are shown.
pub(crate) const PROPLIST: Argument = may("proplist", Kind::Text, "Properties to show");
/// Shows all at once.
pub(crate) const WITHOUT_PAGING: Argument =
    may("without-paging", Kind::Presence, "Do not stop after a page");
