//! `/interface/detect-internet/state`: detected state of interfaces.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The interface"),
        shown("state", Kind::Text, "Detected state"),
        shown("state-change-time", Kind::Text, "Time of the last change"),
        shown("cloud-rtt", Kind::SPAN, "Response time of the Internet"),
    ]],
    columns: &["name", "state", "state-change-time", "cloud-rtt"],
    ..idle_rows(
        "/interface/detect-internet/state",
        "Detected interface states",
    )
};
