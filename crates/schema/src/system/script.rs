//! `/system/script`: stored scripts, running jobs, and global variables of users.

use menu::{
    Argument, AutoValue, Command, Effect, Flag, Kind, Menu, MenuShape, Policies, Property, Unique,
};

use crate::declare::on_items;
use crate::fragment::COMMENT;

/// Default policies of a script.
const POLICY: &str = "ftp,reboot,read,write,policy,test,password,sniff,sensitive,romon";

/// Owner and policies of a script.
pub(crate) const OWNER: &[Property] = &[
    Property::new("owner", Kind::Text, "The user who added the item"),
    Property::new(
        "policy",
        Kind::Set(Policies::WORDS),
        "Policies of the script",
    )
    .default(POLICY),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[Property::new("name", Kind::Name, "Name of the script")],
        OWNER,
        &[
            Property::new(
                "dont-require-permissions",
                Kind::Bool,
                "Allow users with fewer policies to run the script",
            )
            .default("no"),
            Property::new("last-started", Kind::Text, "Last start of the script").read_only(),
            Property::new("run-count", Kind::COUNTER, "Number of runs").read_only(),
            Property::new("source", Kind::Text, "The script")
                .default("")
                .script(),
            COMMENT,
        ],
    ],
    flags: &[Flag::new('I', "invalid", 0)],
    space: Some("script"),
    key: Some("name"),
    kind: "script",
    unique: &[Unique {
        properties: &["name"],
        failure: "item with such name already exists",
    }],
    filled: &[("owner", AutoValue::User)],
    commands: &[Command {
        name: "run",
        help: "Run the script",
        arguments: &[
            Argument {
                name: "number",
                kind: Kind::Text,
                help: "The script",
                required: true,
                unnamed: false,
            },
            Argument {
                name: "use-script-permissions",
                kind: Kind::Presence,
                help: "Run it with the policies of the script instead of those of the user",
                required: false,
                unnamed: false,
            },
        ],
        effect: Effect::Full,
        repeats: false,
    }],
    ..Menu::new("/system/script", MenuShape::List, "Scripts of the router")
};

/// `/system/script/job`
pub(crate) mod job {
    use super::{Kind, Menu, MenuShape, Property, on_items};

    pub(crate) static MENU: Menu = Menu {
        properties: &[&[
            Property::new("type", Kind::Text, "Script or command that is running").read_only(),
            Property::new("script", Kind::Text, "Name of the script").read_only(),
            Property::new("owner", Kind::Text, "Owner").read_only(),
            Property::new("parent", Kind::Text, "Parent job").read_only(),
            Property::new("started", Kind::Text, "Start time").read_only(),
        ]],
        columns: &["type", "script", "owner", "parent", "started"],
        commands: &[const { on_items("remove", "Stop jobs") }],
        conditions: crate::conditions::JOB,
        passes: true,
        ..Menu::new("/system/script/job", MenuShape::Rows, "Running scripts")
    };
}

/// `/system/script/environment`, also reachable as `/environment`.
pub(crate) mod environment {
    use super::{Argument, Command, Effect, Kind, Menu, MenuShape, Property, on_items};

    const PROPERTIES: &[&[Property]] = &[&[
        Property::new("name", Kind::Text, "Name of the variable").read_only(),
        Property::new("user", Kind::Text, "Owner").read_only(),
        Property::new("value", Kind::Text, "Value of the variable").read_only(),
    ]];

    const COMMANDS: &[Command] = &[
        const { on_items("remove", "Remove variables") },
        Command {
            name: "set",
            help: "Change the value of a variable",
            arguments: &[
                Argument {
                    name: "numbers",
                    kind: Kind::Text,
                    help: "List of item numbers",
                    required: true,
                    unnamed: false,
                },
                Argument {
                    name: "value",
                    kind: Kind::Text,
                    help: "The value",
                    required: true,
                    unnamed: false,
                },
            ],
            effect: Effect::Full,
            repeats: false,
        },
    ];

    const fn of(path: &'static str) -> Menu {
        Menu {
            properties: PROPERTIES,
            columns: &["name", "user", "value"],
            sort: &["name"],
            commands: COMMANDS,
            conditions: crate::conditions::VARIABLE,
            ..Menu::new(path, MenuShape::Rows, "Global variables of the users")
        }
    }

    pub(crate) static MENU: Menu = of("/system/script/environment");
    pub(crate) static ROOT: Menu = of("/environment");
}
