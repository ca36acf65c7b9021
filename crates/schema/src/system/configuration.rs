//! `/system/configuration`: the whole configuration and its revisions.

use menu::{Argument, Kind, Menu, MenuShape, Policies};

use crate::declare::{argument, command, counter, shown};

const FILE: Argument = argument("file", Kind::Name, "Configuration file");
const REVISION: Argument = argument("revision", Kind::COUNTER, "Revision of the configuration");

/// Makes an argument required.
const fn needed(argument: Argument) -> Argument {
    Argument {
        required: true,
        ..argument
    }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("revision", "Active revision"),
        shown(
            "unconfirmed",
            Kind::COUNTER,
            "Revision awaiting confirmation",
        ),
        shown(
            "by",
            Kind::Text,
            "User who applied the revision and can confirm it",
        ),
        shown(
            "confirm-within",
            Kind::SPAN,
            "Time until the unconfirmed revision is undone",
        ),
        shown("fault", Kind::Text, "Reason why changes cannot be stored"),
    ]],
    commands: &[
        command(
            "accept",
            "Accept the state recovered from damaged files",
            &[],
        ),
        command(
            "apply",
            "Apply the minimal change that leads to a configuration file",
            &[
                needed(FILE),
                argument(
                    "confirm",
                    Kind::SPAN,
                    "Time for confirmation, after which the change is undone",
                ),
            ],
        ),
        command("cancel", "Undo the unconfirmed change", &[]),
        command("confirm", "Confirm the applied change", &[]),
        command(
            "diff",
            "Show the differences to a file or an earlier revision",
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
                    "Time for confirmation, after which the change is undone",
                ),
            ],
        ),
    ],
    // Replacing the configuration also replaces users.
    policies: Policies::POLICY,
    command_policies: &[("diff", Policies::READ.or(Policies::SENSITIVE))],
    ..Menu::new(
        "/system/configuration",
        MenuShape::Status,
        "Configuration revisions and transactional changes",
    )
};

/// `/system/configuration/history`
pub(crate) static HISTORY: Menu = Menu {
    properties: &[&[
        counter("revision", "Revision number of the change"),
        shown("time", Kind::Text, "Creation time"),
        shown("by", Kind::Text, "User who made the change"),
        shown("action", Kind::Text, "Description of the change"),
        counter("items", "Number of changed items"),
        shown("diff", Kind::List(&Kind::Text), "Summary of the change"),
    ]],
    columns: &["revision", "time", "by", "action", "items"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/system/configuration/history",
        MenuShape::Rows,
        "Revisions of the configuration",
    )
};

/// `/system/configuration/effects`
pub(crate) static EFFECTS: Menu = Menu {
    properties: &[&[
        shown("menu", Kind::Text, "The menu"),
        shown("item", Kind::Text, "Item, as written in commands"),
        shown("missing", Kind::Text, "Missing part of the implementation"),
    ]],
    columns: &["menu", "item", "missing"],
    unnumbered_dynamic: true,
    // The login greeting names this path, and users enter it as shown.
    prints_itself: true,
    ..Menu::new(
        menu::EFFECTS,
        MenuShape::Rows,
        "Parts of the configuration that have no effect",
    )
};
