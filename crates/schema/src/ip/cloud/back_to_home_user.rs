//! `/ip/cloud/back-to-home-user`: users with access through the cloud service.

use menu::{Effect, Flag, Kind, Menu, MenuShape};

use crate::declare::{named, no, shown, text, with_default};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the user"),
            with_default(
                "expires",
                Kind::Or(&["never"], &Kind::Name),
                "never",
                "Time at which access ends",
            ),
            no("allow-lan", "Allow access to the network behind the router"),
            text("private-key", "The user's private key").sensitive(),
            text("public-key", "The user's public key"),
            with_default(
                "file-access",
                Kind::Words(&["disabled", "read-only", "full"]),
                "disabled",
                "Permissions for files",
            ),
            text("file-access-path", "Folder accessible to the user"),
            shown("client-address", Kind::Text, "The user's addresses"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('A', "active", 1)],
    columns: &["name", "expires", "allow-lan"],
    key: Some("name"),
    old_paths: &["/ip/cloud/back-to-home-users"],
    effect: Effect::None,
    ..Menu::new(
        "/ip/cloud/back-to-home-user",
        MenuShape::List,
        "Back to Home users",
    )
};
