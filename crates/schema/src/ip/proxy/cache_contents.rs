//! `/ip/proxy/cache-contents`: pages that are kept.

use menu::{Effect, Kind, Menu, Shape};

use crate::brief::{count, on_items, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        read("uri", Kind::Text, "The page"),
        count("file-size", "Its size"),
        read("last-modified", Kind::Text, "When it was changed"),
        read(
            "last-modified-time",
            Kind::Text,
            "The time of day when it was changed",
        ),
        read("last-accessed", Kind::Text, "When it was asked for"),
        read(
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
