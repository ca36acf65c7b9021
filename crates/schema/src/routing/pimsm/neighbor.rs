//! `/routing/pimsm/neighbor`: PIM neighbours.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("address", Kind::Text, "Address of the neighbour"),
        shown("interface", Kind::Text, "The interface"),
        shown("priority", Kind::COUNTER, "Priority of the neighbour"),
        shown("timeout", Kind::SPAN, "Time until the neighbour expires"),
    ]],
    flags: &[Flag::new('R', "dr", 0)],
    columns: &["instance", "address", "interface"],
    ..idle_rows("/routing/pimsm/neighbor", "PIM neighbours")
};
