//! `/log`: the log.

use menu::{Argument, Command, Effect, Kind, Menu, MenuShape, Policies, Property};

const MESSAGE: &[Argument] = &[Argument {
    name: "message",
    kind: Kind::Text,
    help: "The text of the entry",
    required: true,
    unnamed: false,
}];

const fn entry(name: &'static str, help: &'static str) -> Command {
    Command {
        name,
        help,
        arguments: MESSAGE,
        effect: Effect::Full,
        repeats: false,
    }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("time", Kind::Text, "Time of the message").read_only(),
        Property::new("topics", Kind::List(&Kind::Text), "Topics of the message").read_only(),
        Property::new("message", Kind::Text, "Text of the message").read_only(),
        Property::new("extra-info", Kind::Text, "Additional information").read_only(),
    ]],
    columns: &["time", "topics", "message"],
    lines: true,
    commands: &[
        entry("debug", "Add a log entry with topic debug"),
        entry("error", "Add a log entry with topic error"),
        entry("info", "Add a log entry with topic info"),
        entry("warning", "Add a log entry with topic warning"),
    ],
    conditions: crate::conditions::LOG,
    command_policies: &[
        ("debug", Policies::READ),
        ("error", Policies::READ),
        ("info", Policies::READ),
        ("warning", Policies::READ),
    ],
    ..Menu::new("/log", MenuShape::Rows, "System log")
};
