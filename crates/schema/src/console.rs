//! `/console` and `/terminal`: console settings, and script access to the terminal.

use menu::{Command, Effect, Kind, Menu, MenuShape, Policies, Property};

use crate::declare::{argument, between, command, idle_command, no, required_argument, yes};

/// Kinds of requests of `inspect`.
const REQUESTS: Kind = Kind::List(&Kind::Words(&[
    "child",
    "completion",
    "error",
    "highlight",
    "self",
    "syntax",
]));

pub(crate) static MENU: Menu = Menu {
    commands: &[
        idle_command(
            "clear-history",
            "Discard typed input",
            &[argument("user", Kind::Name, "User")],
        ),
        Command {
            name: "inspect",
            help: "Describe menus and commands for programs",
            arguments: &[
                argument("request", REQUESTS, "Requests; child by default"),
                argument("path", Kind::Text, "Menu path, words separated by commas"),
                argument("input", Kind::Text, "The input text"),
                argument("proplist", Kind::Text, "Properties to show"),
                argument("as-value", Kind::Presence, "Return the result as a value"),
                argument(
                    "without-paging",
                    Kind::Presence,
                    "Print all without pausing after a page",
                ),
            ],
            effect: Effect::Full,
            repeats: false,
        },
    ],
    command_policies: &[("inspect", Policies::READ)],
    ..Menu::new("/console", MenuShape::Folder, "The console")
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        no(
            "sanitize-names",
            "Replace characters that are invalid in names",
        ),
        yes("log-script-errors", "Write script errors to the log"),
        Property::new("tab-width", between(1, 32), "Width of a tab in columns").default("8"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/console/settings",
        MenuShape::Settings,
        "Settings of the console",
    )
};

pub(crate) static TERMINAL: Menu = Menu {
    commands: &[
        command(
            "ask",
            "Ask the user for a line",
            &[
                argument("preinput", Kind::Text, "Editable initial text"),
                argument("prompt", Kind::Text, "The question"),
                argument("sensitive", Kind::Presence, "Hide typed text"),
                argument("value-name", Kind::Text, "The prompt"),
            ],
        ),
        command(
            "cuu",
            "Move the cursor up",
            &[argument(
                "count",
                Kind::Number {
                    min: 0,
                    max: 65_535,
                },
                "Number of lines",
            )],
        ),
        command("el", "Clear the rest of the line", &[]),
        command(
            "inkey",
            "Read a key",
            &[argument("timeout", Kind::SPAN, "Timeout")],
        ),
        command(
            "style",
            "Set the text style",
            &[required_argument(
                "style",
                Kind::Text,
                "The name of the style",
            )],
        ),
    ],
    command_policies: &[
        ("ask", Policies::NONE),
        ("cuu", Policies::NONE),
        ("el", Policies::NONE),
        ("inkey", Policies::NONE),
        ("style", Policies::NONE),
    ],
    ..Menu::new(
        "/terminal",
        MenuShape::Folder,
        "The terminal of the console",
    )
};
