//! `/ip/proxy/refreshes`: statistics of cache refreshes.

use menu::{Effect, Menu, MenuShape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("url-requests", "Because the client asked"),
        counter(
            "request-max-age",
            "Refreshes because of the client's maximum age",
        ),
        counter("expired", "Refreshes of expired pages"),
        counter(
            "response-max-age",
            "Refreshes because of the server's maximum age",
        ),
        counter("config-max-fresh", "Because of the configuration"),
        counter("heuristic", "Because of a guess"),
        counter("other", "Refreshes for other reasons"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/refreshes",
        MenuShape::Status,
        "Why pages were fetched again",
    )
};
