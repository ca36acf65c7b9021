//! `/routing/stats/step`: processing steps.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The step"),
        shown("count", Kind::COUNTER, "Number of times the step ran"),
    ]],
    columns: &["name", "count"],
    ..idle_rows("/routing/stats/step", "Steps of routing processes")
};
