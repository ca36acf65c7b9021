//! `/ip/proxy/inserts`: statistics of cache insertions.

use menu::{Effect, Menu, Shape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("successes", "Pages that were kept"),
        counter("denied", "Pages that rules refused"),
        counter("too-large", "Pages that were too long"),
        counter("no-memory", "Pages without memory"),
        counter("errors", "Pages with other errors"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/proxy/inserts", Shape::Status, "Pages that were kept")
};
