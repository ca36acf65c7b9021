//! `/routing/bfd/session`: BFD sessions.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("remote-address", Kind::Text, "Address of the neighbour"),
        shown("local-address", Kind::Text, "Address of this end"),
        shown("state", Kind::Text, "State of the session"),
        shown("state-changes", Kind::COUNTER, "Number of state changes"),
        shown("uptime", Kind::SPAN, "Uptime of the session"),
        shown(
            "desired-tx-interval",
            Kind::SPAN,
            "Transmit interval wanted by this end",
        ),
        shown("actual-tx-interval", Kind::SPAN, "Time between messages"),
        shown(
            "required-min-rx",
            Kind::SPAN,
            "Receive interval required by this end",
        ),
        shown(
            "remote-min-rx",
            Kind::SPAN,
            "Receive interval required by the other end",
        ),
        shown("multiplier", Kind::COUNTER, "Messages that may be missed"),
        shown("hold-time", Kind::SPAN, "After which silence it is gone"),
        shown("packets-rx", Kind::COUNTER, "Received messages"),
        shown("packets-tx", Kind::COUNTER, "Sent messages"),
    ]],
    flags: &[
        Flag::new('M', "multihop", 0),
        Flag::new('U', "up", 1),
        Flag::new('I', "inactive", 2),
    ],
    columns: &["remote-address", "local-address", "state", "uptime"],
    ..idle_rows("/routing/bfd/session", "Sessions of BFD")
};
