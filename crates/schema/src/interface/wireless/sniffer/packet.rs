//! `/interface/wireless/sniffer/packet`: captured wireless frames.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The interface"),
        shown("time", Kind::SPAN, "When it came"),
        shown("freq", Kind::Text, "Its frequency"),
        shown("signal-at-rate", Kind::Text, "Its signal and rate"),
        shown("src", Kind::Mac, "Hardware address of the sender"),
        shown("dst", Kind::Mac, "Hardware address of the receiver"),
        shown("type", Kind::Text, "What it is"),
    ]],
    columns: &["interface", "time", "freq", "src", "dst", "type"],
    ..idle_rows(
        "/interface/wireless/sniffer/packet",
        "Recorded frames of the air",
    )
};
