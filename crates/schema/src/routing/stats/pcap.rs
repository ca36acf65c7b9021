//! `/routing/stats/pcap`: recorded messages.

use menu::{Kind, Menu};

use crate::fragment::idle_rows;
use crate::terms::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The file"),
        shown("size", Kind::COUNTER, "Bytes"),
    ]],
    columns: &["name", "size"],
    ..idle_rows("/routing/stats/pcap", "Recorded messages")
};
