//! `/ip/proxy/refreshes`: why pages were fetched again.

use menu::{Effect, Menu, Shape};

use crate::brief::count;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        count("url-requests", "Because the client asked"),
        count(
            "request-max-age",
            "Because of the age that the client takes",
        ),
        count("expired", "Because they had expired"),
        count(
            "response-max-age",
            "Because of the age that the server gave",
        ),
        count("config-max-fresh", "Because of the configuration"),
        count("heuristic", "Because of a guess"),
        count("other", "For other reasons"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/refreshes",
        Shape::Status,
        "Why pages were fetched again",
    )
};
