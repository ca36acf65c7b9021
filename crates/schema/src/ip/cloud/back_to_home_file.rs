//! `/ip/cloud/back-to-home-file`: files shared through the cloud service.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{DISABLED_INVALID_DYNAMIC, counter, no, property, shown, text, with_default};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[text("prefer-relay-code", "Preferred relay")]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/cloud/back-to-home-file/settings",
        MenuShape::Settings,
        "Settings of file sharing",
    )
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            property("path", Kind::Name, "The file or folder").required(),
            no("allow-uploads", "Allow uploads"),
            with_default(
                "expires",
                Kind::Or(&["never"], &Kind::Name),
                "never",
                "Time at which sharing ends",
            ),
            shown("key", Kind::Text, "The key of the share").sensitive(),
            shown("url", Kind::Text, "URL of the share"),
            shown(
                "direct-url",
                Kind::Text,
                "URL of the share without the cloud service",
            ),
            counter("downloads", "Number of downloads"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID_DYNAMIC,
    columns: &["path", "expires", "allow-uploads", "downloads"],
    effect: Effect::None,
    ..Menu::new(
        "/ip/cloud/back-to-home-file",
        MenuShape::List,
        "Shared files",
    )
};
