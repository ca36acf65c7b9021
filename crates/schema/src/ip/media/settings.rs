//! `/ip/media/settings`: what all media servers have in common.

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
