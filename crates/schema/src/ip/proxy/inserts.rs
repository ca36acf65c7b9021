//! `/ip/proxy/inserts`: pages that were kept, and why others were not.

use menu::{Effect, Menu, Shape};

use crate::brief::count;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        count("successes", "Pages that were kept"),
        count("denied", "Pages that rules refused"),
        count("too-large", "Pages that were too long"),
        count("no-memory", "Pages without memory"),
        count("errors", "Pages with other errors"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/proxy/inserts", Shape::Status, "Pages that were kept")
};
