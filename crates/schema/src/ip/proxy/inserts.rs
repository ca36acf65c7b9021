//! `/ip/proxy/inserts`: statistics of cache insertions.

use menu::{Effect, Menu, MenuShape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("successes", "Pages stored in the cache"),
        counter("denied", "Pages not stored because of a rule"),
        counter("too-large", "Pages too large for the cache"),
        counter("no-memory", "Pages not stored for lack of memory"),
        counter("errors", "Pages not stored because of other errors"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/inserts",
        MenuShape::Status,
        "Pages stored in the cache",
    )
};
