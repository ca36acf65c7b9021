//! `/routing/pimsm/bsr/rp-set`: rendezvous points learned from the bootstrap router.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("group", Kind::Text, "Groups of the rendezvous point"),
        shown("address", Kind::Text, "Address of the rendezvous point"),
        shown(
            "priority",
            Kind::COUNTER,
            "Priority of the rendezvous point",
        ),
        shown("holdtime", Kind::SPAN, "Hold time"),
    ]],
    columns: &["instance", "group", "address"],
    ..idle_rows(
        "/routing/pimsm/bsr/rp-set",
        "Rendezvous points learned from the bootstrap router",
    )
};
