//! `/system/configuration`: the whole configuration and its revisions.

use menu::{Argument, Kind, Menu, Policies, Shape};

use crate::declare::{argument, command, counter, shown};

const FILE: Argument = argument("file", Kind::Name, "A file of configuration");
const REVISION: Argument = argument("revision", Kind::COUNTER, "A revision of the configuration");

/// Makes an argument required.
const fn needed(argument: Argument) -> Argument {
    Argument {
        required: true,
        ..argument
    }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("revision", "The revision that is in force"),
        shown(
            "unconfirmed",
            Kind::COUNTER,
            "The revision that is to be confirmed",
        ),
        shown("by", Kind::Text, "Who applied it, and can confirm it"),
        shown(
            "confirm-within",
            Kind::SPAN,
            "The time until it is taken back",
        ),
        shown("fault", Kind::Text, "Why changes cannot be stored"),
    ]],
    commands: &[
        command(
            "accept",
            "Accept the state that damaged files were found to have",
            &[],
        ),
        command(
            "apply",
            "Make the smallest change that leads to a file",
            &[
                needed(FILE),
                argument(
                    "confirm",
                    Kind::SPAN,
                    "Take it back unless it is confirmed within",
                ),
            ],
        ),
        command("cancel", "Take back what is not confirmed", &[]),
        command("confirm", "Keep what was applied", &[]),
        command(
            "diff",
            "Show what a file, or an earlier revision, has otherwise",
            &[FILE, REVISION],
        ),
        command(
            "revert",
            "Go back to an earlier revision",
            &[
                needed(REVISION),
                argument(
                    "confirm",
                    Kind::SPAN,
                    "Take it back unless it is confirmed within",
                ),
            ],
        ),
    ],
    // Replacing the configuration also replaces users.
    policies: Policies::POLICY,
    command_policies: &[("diff", Policies::READ.or(Policies::SENSITIVE))],
    ..Menu::new(
        "/system/configuration",
        Shape::Status,
        "Configuration as a whole",
    )
};

/// `/system/configuration/history`
pub(crate) static HISTORY: Menu = Menu {
    properties: &[&[
        counter("revision", "The revision that the change made"),
        shown("time", Kind::Text, "When it was made"),
        shown("by", Kind::Text, "Who made it"),
        shown("action", Kind::Text, "What was done"),
        counter("items", "How many items changed"),
        shown("diff", Kind::List(&Kind::Text), "What changed"),
    ]],
    columns: &["revision", "time", "by", "action", "items"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/system/configuration/history",
        Shape::Rows,
        "Revisions of the configuration",
    )
};

/// `/system/configuration/effects`
pub(crate) static EFFECTS: Menu = Menu {
    properties: &[&[
        shown("menu", Kind::Text, "The menu"),
        shown("item", Kind::Text, "The item, as a command names it"),
        shown("missing", Kind::Text, "What is missing for it"),
    ]],
    columns: &["menu", "item", "missing"],
    unnumbered_dynamic: true,
    // The login greeting names this path, and users enter it as shown.
    prints_itself: true,
    ..Menu::new(
        menu::EFFECTS,
        Shape::Rows,
        "What of the configuration has no effect yet",
    )
};
