//! `/ip/service/webserver`: content of the web services over HTTP and HTTPS.

use menu::{Effect, Menu, MenuShape};

use crate::declare::yes;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("index-plain", "The front page by HTTP"),
        yes("webfig-plain", "WebFig by HTTP"),
        yes("graphs-plain", "Graphs by HTTP"),
        yes("rest-plain", "REST by HTTP"),
        yes("crl-plain", "Lists of revoked certificates by HTTP"),
        yes("scep-plain", "SCEP by HTTP"),
        yes("acme-plain", "Answers for ACME by HTTP"),
        yes("index-secure", "The front page by HTTPS"),
        yes("webfig-secure", "WebFig by HTTPS"),
        yes("graphs-secure", "Graphs by HTTPS"),
        yes("rest-secure", "REST by HTTPS"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/service/webserver",
        MenuShape::Settings,
        "Contents of the web services",
    )
};
