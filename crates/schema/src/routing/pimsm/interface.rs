//! `/routing/pimsm/interface`: PIM interfaces.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("interface", Kind::Text, "The interface"),
        shown("address", Kind::Text, "Local address"),
        shown("priority", Kind::COUNTER, "Local priority"),
    ]],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('R', "dr", 1)],
    columns: &["instance", "interface", "address"],
    ..idle_rows("/routing/pimsm/interface", "Interfaces on which PIM runs")
};
