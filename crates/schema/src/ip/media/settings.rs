//! `/ip/media/settings`: settings of all media servers.

use menu::{Effect, Menu, Shape};

use crate::declare::text;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[text("thumbnails", "Folder of small pictures")]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/media/settings",
        Shape::Settings,
        "Media server settings",
    )
};
