//! `/ip/proxy/lookups`: pages that were found, and why others were not.

use menu::{Effect, Menu, Shape};

use crate::brief::count;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        count("successes", "Pages that were found"),
        count("not-found", "Pages that were not there"),
        count("non-cacheable", "Pages that cannot be kept"),
        count("denied", "Pages that rules refused"),
        count("expired", "Pages that were too old"),
        count("no-expiration-info", "Pages of unknown age"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/proxy/lookups", Shape::Status, "Pages that were found")
};
