//! `/console`: the console itself.

use menu::{Effect, Kind, Menu, Property, Shape};

use crate::short::{between, idle, may, switch};

/// The menus of this file.
pub(crate) const MENUS: &[&Menu] = &[&MENU, &SETTINGS];

pub(crate) static MENU: Menu = Menu {
    commands: &[idle(
        "clear-history",
        "Forget what was typed",
        &[may("user", Kind::Name, "User")],
    )],
    effect: Effect::None,
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
