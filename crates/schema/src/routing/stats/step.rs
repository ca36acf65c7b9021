//! `/routing/stats/step`: processing steps.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The step"),
        shown("count", Kind::COUNTER, "How often it was taken"),
    ]],
    columns: &["name", "count"],
    ..idle_rows("/routing/stats/step", "Steps of routing")
};
