//! `/ppp/active`: active sessions.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the user"),
        shown("service", Kind::Text, "What carries the session"),
        shown("caller-id", Kind::Text, "Where the user is"),
        shown("address", Kind::Text, "Address of the user"),
        shown("uptime", Kind::SPAN, "How long the session has been up"),
        shown("encoding", Kind::Text, "Encryption and compression"),
        shown("session-id", Kind::Text, "Number of the session"),
        shown(
            "limit-bytes-in",
            Kind::COUNTER,
            "Bytes that the user may send",
        ),
        shown(
            "limit-bytes-out",
            Kind::COUNTER,
            "Bytes that the user may receive",
        ),
        shown(
            "radius",
            Kind::Bool,
            "Whether a RADIUS server knows the user",
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
    ..idle_rows("/ppp/active", "Active PPP sessions")
};
