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
        shown("address", Kind::Text, "Address of the bootstrap router"),
        shown(
            "priority",
            Kind::COUNTER,
            "Priority of the bootstrap router",
        ),
        shown("state", Kind::Text, "State of the election"),
    ]],
    columns: &["instance", "address", "priority", "state"],
    ..idle_rows("/routing/pimsm/bsr", "Bootstrap routers")
};
