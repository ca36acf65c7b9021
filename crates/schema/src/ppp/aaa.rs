//! `/ppp/aaa`: RADIUS for PPP users.

use menu::Menu;

use crate::declare::{no, span, yes};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("use-radius", "Asks a RADIUS server who users are"),
        yes("accounting", "Tells it what was used"),
        span("interim-update", "How often it is told").default("0s"),
        no(
            "use-circuit-id-in-nas-port-id",
            "Tells it the circuit of PPPoE clients",
        ),
        no("enable-ipv6-accounting", "Counts IPv6 apart"),
    ]],
    ..idle_settings("/ppp/aaa", "Authentication of PPP users by RADIUS")
};
