//! `/ip/proxy/lookups`: statistics of cache lookups.

use menu::{Effect, Menu, MenuShape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("successes", "Pages found in the cache"),
        counter("not-found", "Pages not found in the cache"),
        counter("non-cacheable", "Pages that cannot be cached"),
        counter("denied", "Pages refused by rules"),
        counter("expired", "Expired pages"),
        counter("no-expiration-info", "Pages of unknown age"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/lookups",
        MenuShape::Status,
        "Pages found in the cache",
    )
};
