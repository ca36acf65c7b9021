//! `/ip/proxy/cache-contents`: cached pages.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{counter, on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("uri", Kind::Text, "The page"),
        counter("file-size", "Size of the page"),
        shown("last-modified", Kind::Text, "Time of last change"),
        shown("last-modified-time", Kind::Text, "Time of the last change"),
        shown("last-accessed", Kind::Text, "Last access"),
        shown("last-accessed-time", Kind::Text, "Time of the last access"),
    ]],
    columns: &["uri", "last-modified", "file-size"],
    commands: &[on_items("remove", "Remove pages from the cache")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/cache-contents",
        MenuShape::Rows,
        "Pages in the cache",
    )
};
