//! `/ip/proxy/refreshes`: statistics of cache refreshes.

use menu::{Effect, Menu, MenuShape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("url-requests", "Refreshes requested by the client"),
        counter(
            "request-max-age",
            "Refreshes because of the client's maximum age",
        ),
        counter("expired", "Refreshes of expired pages"),
        counter(
            "response-max-age",
            "Refreshes because of the server's maximum age",
        ),
        counter("config-max-fresh", "Refreshes because of max-fresh-time"),
        counter("heuristic", "Refreshes because of the heuristic page age"),
        counter("other", "Refreshes for other reasons"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/refreshes",
        MenuShape::Status,
        "Reasons of cache refreshes",
    )
};
