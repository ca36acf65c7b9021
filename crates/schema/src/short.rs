//! Short spellings of what declarations of menus without effect say often.

use menu::{Argument, Command, Effect, Kind, Property};

pub(crate) use crate::brief::{
    PORT, U32 as COUNT, argument as may, number as between, read as shown, text,
};
pub(crate) use crate::interface::{NUMBERS, ONCE};

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

/// An argument that a command needs.
pub(crate) const fn need(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        name,
        kind,
        help,
        required: true,
        unnamed: false,
    }
}

/// An argument that may be left out, and stand without its name.
pub(crate) const fn bare(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        name,
        kind,
        help,
        required: false,
        unnamed: true,
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
        repeats: false,
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
/// One item.
pub(crate) const NUMBER: Argument = need("number", Kind::Text, "Item number");
/// What a command takes that shows settings until it is stopped.
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
/// The same of one that shows items.
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
