//! `/routing/pimsm/bsr/rp-set`: rendezvous points learned from the bootstrap router.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("group", Kind::Text, "Its groups"),
        shown("address", Kind::Text, "Address of the meeting point"),
        shown("priority", Kind::COUNTER, "Its priority"),
        shown("holdtime", Kind::SPAN, "How long that holds"),
    ]],
    columns: &["instance", "group", "address"],
    ..idle_rows("/routing/pimsm/bsr/rp-set", "Meeting points that were told")
};
