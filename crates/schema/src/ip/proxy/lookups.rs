//! `/ip/proxy/lookups`: statistics of cache lookups.

use menu::{Effect, Menu, Shape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("successes", "Pages that were found"),
        counter("not-found", "Pages that were not there"),
        counter("non-cacheable", "Pages that cannot be kept"),
        counter("denied", "Pages that rules refused"),
        counter("expired", "Pages that were too old"),
        counter("no-expiration-info", "Pages of unknown age"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/proxy/lookups", Shape::Status, "Pages that were found")
};
