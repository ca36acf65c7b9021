//! `/routing/isis/lsp`: the link state database.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("level", Kind::Text, "The level"),
        shown("lsp-id", Kind::Text, "Originating router"),
        shown("sequence", Kind::Text, "Sequence number"),
        shown("age", Kind::SPAN, "Age"),
        shown("checksum", Kind::Text, "Checksum"),
        shown("body", Kind::Text, "Contents"),
    ]],
    columns: &["instance", "level", "lsp-id", "sequence"],
    ..idle_rows("/routing/isis/lsp", "Link-state database of IS-IS")
};
