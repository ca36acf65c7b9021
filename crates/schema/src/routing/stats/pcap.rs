//! `/routing/stats/pcap`: captured protocol messages.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "The file"),
        shown("size", Kind::COUNTER, "Bytes"),
    ]],
    columns: &["name", "size"],
    ..idle_rows("/routing/stats/pcap", "Captured routing messages")
};
