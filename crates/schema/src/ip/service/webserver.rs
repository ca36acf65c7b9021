//! `/ip/service/webserver`: content of the web services over HTTP and HTTPS.

use menu::{Effect, Menu, MenuShape};

use crate::declare::yes;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("index-plain", "Front page over HTTP"),
        yes("webfig-plain", "WebFig over HTTP"),
        yes("graphs-plain", "Graphs over HTTP"),
        yes("rest-plain", "REST API over HTTP"),
        yes("crl-plain", "Certificate revocation lists over HTTP"),
        yes("scep-plain", "SCEP over HTTP"),
        yes("acme-plain", "ACME challenges over HTTP"),
        yes("index-secure", "Front page over HTTPS"),
        yes("webfig-secure", "WebFig over HTTPS"),
        yes("graphs-secure", "Graphs over HTTPS"),
        yes("rest-secure", "REST API over HTTPS"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/service/webserver",
        MenuShape::Settings,
        "Contents of the web services",
    )
};
