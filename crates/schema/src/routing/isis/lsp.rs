//! `/routing/isis/lsp`: the link state database.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("level", Kind::Text, "The level"),
        shown("lsp-id", Kind::Text, "Who said it"),
        shown("sequence", Kind::Text, "How new it is"),
        shown("age", Kind::SPAN, "How old it is"),
        shown("checksum", Kind::Text, "Its checksum"),
        shown("body", Kind::Text, "What it says"),
    ]],
    columns: &["instance", "level", "lsp-id", "sequence"],
    ..idle_rows(
        "/routing/isis/lsp",
        "What routers of IS-IS have said of themselves",
    )
};
