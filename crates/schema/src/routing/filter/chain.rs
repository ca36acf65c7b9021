//! `/routing/filter/chain`: filter chains.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[shown("name", Kind::Text, "Name of the chain")]],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('I', "inactive", 1)],
    columns: &["name"],
    ..idle_rows("/routing/filter/chain", "Filter chains")
};
