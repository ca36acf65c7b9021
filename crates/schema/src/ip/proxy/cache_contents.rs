//! `/ip/proxy/cache-contents`: cached pages.

use menu::{Effect, Kind, Menu, Shape};

use crate::declare::{counter, on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("uri", Kind::Text, "The page"),
        counter("file-size", "Its size"),
        shown("last-modified", Kind::Text, "When it was changed"),
        shown(
            "last-modified-time",
            Kind::Text,
            "The time of day when it was changed",
        ),
        shown("last-accessed", Kind::Text, "When it was asked for"),
        shown(
            "last-accessed-time",
            Kind::Text,
            "The time of day when it was asked for",
        ),
    ]],
    columns: &["uri", "last-modified", "file-size"],
    commands: &[on_items("remove", "Forget pages")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/cache-contents",
        Shape::Rows,
        "Pages that are kept",
    )
};
