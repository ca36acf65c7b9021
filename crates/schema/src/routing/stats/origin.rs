//! `/routing/stats/origin`: number of routes by origin.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Origin of the routes"),
        shown("instance-id", Kind::Text, "The instance"),
        shown("total-route-count", Kind::COUNTER, "Routes"),
        shown("afi", Kind::Text, "Address family"),
    ]],
    columns: &["name", "total-route-count"],
    ..idle_rows("/routing/stats/origin", "Route origins")
};
