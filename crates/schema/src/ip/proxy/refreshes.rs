//! `/ip/proxy/refreshes`: statistics of cache refreshes.

use menu::{Effect, Menu, Shape};

use crate::declare::counter;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        counter("url-requests", "Because the client asked"),
        counter(
            "request-max-age",
            "Because of the age that the client takes",
        ),
        counter("expired", "Because they had expired"),
        counter(
            "response-max-age",
            "Because of the age that the server gave",
        ),
        counter("config-max-fresh", "Because of the configuration"),
        counter("heuristic", "Because of a guess"),
        counter("other", "For other reasons"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/refreshes",
        Shape::Status,
        "Why pages were fetched again",
    )
};
