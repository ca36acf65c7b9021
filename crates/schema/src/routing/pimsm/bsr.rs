//! `/routing/pimsm/bsr`: bootstrap router mechanism (RFC 5059).

pub(crate) mod candidate;
pub(crate) mod rp_candidate;
pub(crate) mod rp_set;

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("address", Kind::Text, "Address of who tells meeting points"),
        shown("priority", Kind::COUNTER, "Its priority"),
        shown("state", Kind::Text, "How far it is"),
    ]],
    columns: &["instance", "address", "priority", "state"],
    ..idle_rows("/routing/pimsm/bsr", "Who tells meeting points")
};
