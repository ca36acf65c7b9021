//! `/interface/detect-internet/state`: detected state of interfaces.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The interface"),
        shown("state", Kind::Text, "What it leads to"),
        shown("state-change-time", Kind::Text, "Since when"),
        shown(
            "cloud-rtt",
            Kind::SPAN,
            "How long the Internet takes to answer",
        ),
    ]],
    columns: &["name", "state", "state-change-time", "cloud-rtt"],
    ..idle_rows(
        "/interface/detect-internet/state",
        "What interfaces lead to",
    )
};
