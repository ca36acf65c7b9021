//! `/routing/isis/neighbor`: IS-IS neighbours.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("interface", Kind::Text, "The interface"),
        shown("level-type", Kind::Text, "The level"),
        shown("snpa", Kind::Mac, "Hardware address of the neighbour"),
        shown("srcid", Kind::Text, "System ID of the neighbour"),
        shown("state", Kind::Text, "State"),
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["instance", "interface", "srcid", "state"],
    ..idle_rows("/routing/isis/neighbor", "Neighbours of IS-IS")
};
