//! `/ip/tftp/settings`: TFTP settings.

use menu::{Effect, Menu, MenuShape};

use crate::declare::{between, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[with_default(
        "max-block-size",
        between(512, 65_536),
        "4096",
        "Maximum block size",
    )]],
    effect: Effect::None,
    ..Menu::new("/ip/tftp/settings", MenuShape::Settings, "TFTP settings")
};
