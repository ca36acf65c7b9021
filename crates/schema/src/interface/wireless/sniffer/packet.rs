//! `/interface/wireless/sniffer/packet`: captured wireless frames.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The interface"),
        shown("time", Kind::SPAN, "Receive time"),
        shown("freq", Kind::Text, "Frequency"),
        shown("signal-at-rate", Kind::Text, "Signal and rate"),
        shown("src", Kind::Mac, "Hardware address of the sender"),
        shown("dst", Kind::Mac, "Hardware address of the receiver"),
        shown("type", Kind::Text, "Type"),
    ]],
    columns: &["interface", "time", "freq", "src", "dst", "type"],
    ..idle_rows(
        "/interface/wireless/sniffer/packet",
        "Frames captured by the wireless sniffer",
    )
};
