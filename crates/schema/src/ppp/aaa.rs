//! `/ppp/aaa`: RADIUS for PPP users.

use menu::{Menu, MenuShape};

use crate::declare::{no, span, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("use-radius", "Authenticate users by RADIUS"),
        yes("accounting", "Account sessions by RADIUS"),
        span("interim-update", "Interim update interval of accounting").default("0s"),
        no(
            "use-circuit-id-in-nas-port-id",
            "Send the circuit identifier of PPPoE clients to RADIUS",
        ),
        no("enable-ipv6-accounting", "Count IPv6 separately").inert(),
    ]],
    ..Menu::new(
        "/ppp/aaa",
        MenuShape::Settings,
        "Authentication of PPP users by RADIUS",
    )
};
