//! `/interface/dot1x/server/state`: port states.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The port"),
        shown("status", Kind::Text, "Port status"),
    ]],
    columns: &["interface", "status"],
    ..idle_rows("/interface/dot1x/server/state", "Port states")
};
