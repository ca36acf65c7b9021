//! `/ip/hotspot/cookie`: login cookies.

use menu::{Effect, Flag, Kind, Menu, MenuShape};

use crate::declare::{on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("user", Kind::Text, "The user"),
        shown("domain", Kind::Text, "The user's domain"),
        shown("mac-address", Kind::Mac, "The guest's hardware address"),
        shown("expires-in", Kind::SPAN, "Time until the cookie expires"),
    ]],
    flags: &[Flag::new('M', "mac-cookie", 0)],
    columns: &["user", "domain", "mac-address", "expires-in"],
    commands: &[on_items("remove", "Remove cookies")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/cookie",
        MenuShape::Rows,
        "Login cookies of guests",
    )
};
