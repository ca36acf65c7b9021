//! `/console`: the console itself.

use menu::{Command, Effect, Kind, Menu, Property, Shape};

use crate::short::{between, idle, may, switch};

/// The menus of this file.
pub(crate) const MENUS: &[&Menu] = &[&MENU, &SETTINGS];

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
            ],
            effect: Effect::Full,
        },
    ],
    rank: 994,
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
    rank: 995,
    ..Menu::new(
        "/console/settings",
        Shape::Settings,
        "Settings of the console",
    )
};
