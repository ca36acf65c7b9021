//! `/routing/isis/interface`: IS-IS interfaces.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "The instance"),
        shown("interface", Kind::Text, "The interface"),
        shown("hello-interval", Kind::SPAN, "Interval of hello messages"),
        shown("ptp", Kind::Bool, "Point-to-point interface"),
        shown(
            "ptp.usage",
            Kind::Text,
            "Levels used on the point-to-point interface",
        ),
        shown(
            "ptp.3way-state",
            Kind::Text,
            "State of the three-way handshake",
        ),
        shown("l1.metric", Kind::COUNTER, "Level 1 metric"),
        shown("l1.priority", Kind::COUNTER, "Priority at level 1"),
        shown("l2.metric", Kind::COUNTER, "Level 2 metric"),
        shown("l2.priority", Kind::COUNTER, "Priority at level 2"),
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["instance", "interface"],
    ..idle_rows("/routing/isis/interface", "Interfaces on which IS-IS runs")
};
