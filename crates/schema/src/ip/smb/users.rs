//! `/ip/smb/users`: SMB users.

use menu::{Builtin, Effect, ExportSelector, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{no, text};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the user"),
            text("password", "Password of the user").sensitive(),
            no("read-only", "Allow reading only"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 0),
        Flag::new('*', "default", 1),
        Flag::new('r', "read-only", 2),
    ],
    columns: &["name", "password"],
    space: Some("smb-user"),
    key: Some("name"),
    kind: "user",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("name", "guest")],
    }],
    effect: Effect::None,
    ..Menu::new("/ip/smb/users", MenuShape::List, "Users of shares")
};
