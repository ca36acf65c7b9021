//! `/ip/smb/shares`: shared folders.

use menu::{Builtin, Effect, ExportSelector, Flag, Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{no, text, with_default};
use crate::fragment::COMMENT_DISABLED;

const USERS: Kind = Kind::List(&Kind::Reference("smb-user"));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the share"),
            text("directory", "The folder"),
            no("read-only", "Allow reading only"),
            no("require-encryption", "Require encryption"),
            with_default("valid-users", USERS, "", "Users with access; all if empty"),
            with_default("invalid-users", USERS, "", "Users without access"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 0),
        Flag::new('*', "default", 1),
        Flag::new('r', "read-only", 2),
        Flag::new('c', "require-encryption", 3),
    ],
    columns: &["name", "directory", "valid-users", "invalid-users"],
    space: Some("smb-share"),
    key: Some("name"),
    kind: "share",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[
            ("name", "pub"),
            ("directory", "/pub"),
            ("comment", "default share"),
        ],
    }],
    old: &[OldProperty::gone("max-sessions")],
    old_paths: &["/ip/smb/share"],
    effect: Effect::None,
    conditions: crate::conditions::SHARES,
    ..Menu::new("/ip/smb/shares", MenuShape::List, "Shared folders")
};
