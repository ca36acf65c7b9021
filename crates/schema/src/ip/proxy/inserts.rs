//! `/ip/proxy/inserts`: statistics of cache insertions.

use menu::{Effect, Menu, MenuShape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("successes", "Pages stored"),
        counter("denied", "Pages that rules refused"),
        counter("too-large", "Pages too long to store"),
        counter("no-memory", "Pages without memory"),
        counter("errors", "Pages not stored because of other errors"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/proxy/inserts", MenuShape::Status, "Pages stored")
};
