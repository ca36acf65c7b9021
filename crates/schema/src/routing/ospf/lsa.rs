//! `/routing/ospf/lsa`: the link state database.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("area", Kind::Text, "The area"),
        shown("type", Kind::Text, "Type of the LSA"),
        shown("originator", Kind::Text, "Originating router"),
        shown("id", Kind::Text, "Link state ID"),
        shown("sequence", Kind::Text, "Sequence number"),
        shown("age", Kind::SPAN, "Age"),
        shown("checksum", Kind::Text, "Checksum"),
        shown("body", Kind::Text, "Contents"),
    ]],
    flags: &[
        Flag::new('S', "self-originated", 0),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &["instance", "area", "type", "originator", "id"],
    ..idle_rows("/routing/ospf/lsa", "Link-state database of OSPF")
};
