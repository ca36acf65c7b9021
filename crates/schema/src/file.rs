//! `/file`: the router's file store.

use menu::{Argument, Command, Kind, Menu, MenuShape, Policies, Property};

use crate::declare::{argument, command, on_items, shown};

const NUMBERS: Argument = crate::interface::NUMBERS;
const CONTENTS: Argument = argument("contents", Kind::Text, "File contents");
const NEW_NAME: Argument = argument("name", Kind::Name, "The file's name");
const TYPE: Argument = argument(
    "type",
    Kind::Words(&["file", "directory"]),
    "File or folder",
);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Name, "Name including folders"),
        shown("type", Kind::Text, "File type by name extension"),
        Property::new("size", Kind::COUNTER, "Bytes in the file")
            .read_only()
            .unit("B"),
        shown("last-modified", Kind::Text, "Time of last change"),
        shown("creation-time", Kind::Text, "Creation time"),
        shown("contents", Kind::Text, "Contents of a small text file"),
    ]],
    columns: &["name", "type", "size", "last-modified"],
    key: Some("name"),
    commands: COMMANDS,
    command_policies: &[("read", Policies::READ)],
    conditions: crate::conditions::FILE,
    ..Menu::new("/file", MenuShape::Rows, "Local router file storage.")
};

const COMMANDS: &[Command] = &[
    command("add", "Create a new file", &[NEW_NAME, CONTENTS, TYPE]),
    command(
        "copy",
        "Copy a file",
        &[
            NUMBERS,
            argument("name", Kind::Name, "The name of the copy"),
        ],
    ),
    command(
        "read",
        "Read part of a file",
        &[
            argument("file", Kind::Text, "The file"),
            argument("offset", Kind::COUNTER, "Offset of the first byte"),
            argument(
                "chunk-size",
                Kind::Number {
                    min: 1,
                    max: 32_768,
                },
                "Size in bytes",
            ),
            argument("as-value", Kind::Presence, "Return the result as a value"),
        ],
    ),
    on_items("remove", "Remove files"),
    command("set", "Change files", &[NUMBERS, NEW_NAME, CONTENTS]),
];
