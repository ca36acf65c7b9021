//! `/routing/ospf/lsa`: the link state database.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("area", Kind::Text, "The area"),
        shown("type", Kind::Text, "What it is about"),
        shown("originator", Kind::Text, "Who said it"),
        shown("id", Kind::Text, "Its number"),
        shown("sequence", Kind::Text, "How new it is"),
        shown("age", Kind::SPAN, "How old it is"),
        shown("checksum", Kind::Text, "Its checksum"),
        shown("body", Kind::Text, "What it says"),
    ]],
    flags: &[
        Flag::new('S', "self-originated", 0),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &["instance", "area", "type", "originator", "id"],
    ..idle_rows("/routing/ospf/lsa", "Link states")
};
