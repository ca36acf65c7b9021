//! `/ip/media/settings`: settings of all media servers.

use menu::{Effect, Menu, MenuShape};

use crate::declare::text;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[text("thumbnails", "Folder of thumbnails")]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/media/settings",
        MenuShape::Settings,
        "Media server settings",
    )
};
