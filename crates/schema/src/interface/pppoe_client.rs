//! `/interface/pppoe-client`: PPPoE clients (RFC 2516).

use menu::{Kind, Menu, Property};

use super::dial::{ALLOW, NAME, PEER_DNS, ROUTES, UNIT_OR_AUTO, USER, keepalive, profile, units};
use crate::declare::text;
use crate::fragment::interface;
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT_OR_AUTO, "auto"),
        &[interface("The interface that carries the frames")],
        USER,
        &[
            profile("profile", "default"),
            text("service-name", "The service that is asked for"),
            text("ac-name", "The server that is asked for"),
            Property::new("host-uniq", Kind::Text, "Host-Uniq tag").optional(),
        ],
        &[keepalive("10")],
        ROUTES,
        &[PEER_DNS, ALLOW],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "interface", "user", "service-name"],
    naming: "pppoe-out",
    ..idle_interfaces("/interface/pppoe-client", "pppoe-out", "PPPoE clients")
};
