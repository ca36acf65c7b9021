//! `/routing/stats/memory`: memory use.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Purpose of the memory"),
        shown("size", Kind::COUNTER, "Bytes"),
    ]],
    columns: &["name", "size"],
    ..idle_rows("/routing/stats/memory", "Memory of routing processes")
};
