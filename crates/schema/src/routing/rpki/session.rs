//! `/routing/rpki/session`: RPKI sessions.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("group", Kind::Text, "Group of servers"),
        shown("address", Kind::Text, "Address of the server"),
        shown("state", Kind::Text, "How far it is"),
        shown("uptime", Kind::SPAN, "How long it has been up"),
        shown("prefix-count", Kind::COUNTER, "Networks that it knows"),
    ]],
    columns: &["group", "address", "state", "prefix-count"],
    ..idle_rows("/routing/rpki/session", "Sessions of RPKI")
};
