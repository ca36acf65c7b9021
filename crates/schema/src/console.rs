//! `/console` and `/terminal`: the console itself, and what scripts do with its terminal.

use menu::{Command, Effect, Kind, Menu, Policies, Property, Shape};

use crate::brief::command;
use crate::short::{between, idle, may, need, switch};

/// What `inspect` is asked for.
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
        idle(
            "clear-history",
            "Forget what was typed",
            &[may("user", Kind::Name, "User")],
        ),
        Command {
            name: "inspect",
            help: "Tell programs about menus, commands and texts",
            arguments: &[
                may("request", REQUESTS, "What is asked; child if nothing is"),
                may("path", Kind::Text, "The path, its words between commas"),
                may("input", Kind::Text, "The text that is being typed"),
                may("proplist", Kind::Text, "What is shown"),
                may("as-value", Kind::Presence, "Give the result as a value"),
                may("without-paging", Kind::Presence, "Show all at once"),
            ],
            effect: Effect::Full,
            repeats: false,
        },
    ],
    ..Menu::new("/console", Shape::Folder, "The console")
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        switch(
            "sanitize-names",
            "no",
            "Replaces characters that names should not have",
        ),
        switch(
            "log-script-errors",
            "yes",
            "Writes errors of scripts to the log",
        ),
        Property::new("tab-width", between(1, 32), "Columns of a tab").default("8"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/console/settings",
        Shape::Settings,
        "Settings of the console",
    )
};

pub(crate) static TERMINAL: Menu = Menu {
    commands: &[
        command(
            "ask",
            "Ask the user for a line",
            &[
                may("preinput", Kind::Text, "What stands there to be changed"),
                may("prompt", Kind::Text, "The question"),
                may("sensitive", Kind::Presence, "Do not show what is typed"),
                may("value-name", Kind::Text, "What is asked for"),
            ],
        ),
        command(
            "cuu",
            "Move the cursor up",
            &[may(
                "count",
                Kind::Number {
                    min: 0,
                    max: 65_535,
                },
                "How many lines",
            )],
        ),
        command("el", "Clear the rest of the line", &[]),
        command(
            "inkey",
            "Read a key",
            &[may("timeout", Kind::SPAN, "How long to wait for one")],
        ),
        command(
            "style",
            "Set the style of what is printed",
            &[need("style", Kind::Text, "The name of the style")],
        ),
    ],
    command_policies: &[
        ("ask", Policies::NONE),
        ("cuu", Policies::NONE),
        ("el", Policies::NONE),
        ("inkey", Policies::NONE),
        ("style", Policies::NONE),
    ],
    ..Menu::new("/terminal", Shape::Folder, "The terminal of the console")
};
