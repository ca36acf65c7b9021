//! `/tool/drop`: dropped packets by reason. RouterOS has no such menu.

use menu::{Kind, Menu, Shape};

use crate::declare::{counter, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("reason", Kind::Text, "Why packets were discarded"),
        shown(
            "service",
            Kind::Text,
            "Which service of this router they were for",
        ),
        counter("packets", "How many since the start"),
        shown("meaning", Kind::Text, "What the reason means"),
    ]],
    columns: &["reason", "service", "packets", "meaning"],
    unnumbered_dynamic: true,
    ..Menu::new(
        "/tool/drop",
        Shape::Rows,
        "Packets that were discarded, by reason",
    )
};
