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
            Property::new("group", Kind::Name, "Group of servers that rules name").required(),
            Property::new("address", HOST, "Address of the server").required(),
            optional("port", PORT, "Its TCP port"),
            optional("preference", U32, "Which server comes first"),
            optional("refresh-interval", TIME, "How often it is asked"),
            optional("retry-interval", TIME, "When it is asked again"),
            optional("expire-interval", TIME, "How long answers hold"),
            optional("vrf", VRF, "The VRF that it is in"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["group", "address", "port"],
    commands: &[
        idle_command("rpki-check", "Show whether an origin is allowed"),
        idle_command("rpki-query", "Show who may announce a network"),
    ],
    ..idle_list("/routing/rpki", "Servers of RPKI")
};
