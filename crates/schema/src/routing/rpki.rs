//! `/routing/rpki`: RPKI caches for route origin validation (RFC 6810).

pub(crate) mod session;

use menu::{Kind, Menu, Property};

use crate::declare::{HOST, PORT, U32, VRF, optional, seconds};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};
use crate::interface::idle_command;

const TIME: Kind = seconds(1, 172_800);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("group", Kind::Name, "Group of servers to which rules refer").required(),
            Property::new("address", HOST, "Address of the server").required(),
            optional("port", PORT, "TCP port of the server"),
            optional("preference", U32, "Preference of the server"),
            optional("refresh-interval", TIME, "Refresh interval"),
            optional("retry-interval", TIME, "Retry interval"),
            optional("expire-interval", TIME, "Expiry time of answers"),
            optional("vrf", VRF, "The VRF"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["group", "address", "port"],
    commands: &[
        idle_command("rpki-check", "Show whether an origin is allowed"),
        idle_command("rpki-query", "Show the valid origins of a network"),
    ],
    ..idle_list("/routing/rpki", "RPKI servers")
};
