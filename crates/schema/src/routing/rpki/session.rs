//! `/routing/rpki/session`: RPKI sessions.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("group", Kind::Text, "Group of servers"),
        shown("address", Kind::Text, "Address of the server"),
        shown("state", Kind::Text, "State of the session"),
        shown("uptime", Kind::SPAN, "Uptime of the session"),
        shown(
            "prefix-count",
            Kind::COUNTER,
            "Number of networks received from the server",
        ),
    ]],
    columns: &["group", "address", "state", "prefix-count"],
    ..idle_rows("/routing/rpki/session", "RPKI sessions")
};
