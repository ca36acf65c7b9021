//! `/ppp/active`: active sessions.

use menu::{Flag, Kind, Menu, MenuShape};

use crate::declare::{on_items, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the user"),
        shown("service", Kind::Text, "Service of the session"),
        shown(
            "caller-id",
            Kind::Text,
            "Address or number from which the user connects",
        ),
        shown("address", Kind::Text, "Address of the user"),
        shown("uptime", Kind::SPAN, "Uptime of the session"),
        shown("encoding", Kind::Text, "Encryption and compression"),
        shown("session-id", Kind::Text, "Number of the session"),
        shown(
            "limit-bytes-in",
            Kind::COUNTER,
            "Maximum number of bytes from the user",
        ),
        shown(
            "limit-bytes-out",
            Kind::COUNTER,
            "Maximum number of bytes to the user",
        ),
        shown(
            "radius",
            Kind::Bool,
            "Whether a RADIUS server knows the user",
        ),
        shown(
            "agent-circuit-id",
            Kind::Text,
            "Circuit identifier that an access node added",
        ),
        shown(
            "agent-remote-id",
            Kind::Text,
            "Remote identifier that an access node added",
        ),
        shown("comment", Kind::Text, "Short description of the user"),
    ]],
    flags: &[Flag::new('R', "radius", 0)],
    columns: &[
        "name",
        "service",
        "caller-id",
        "address",
        "uptime",
        "encoding",
    ],
    commands: &[const { on_items("remove", "End sessions") }],
    ..Menu::new("/ppp/active", MenuShape::Rows, "Active PPP sessions")
};
