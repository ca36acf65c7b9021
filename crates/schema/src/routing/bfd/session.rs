//! `/routing/bfd/session`: BFD sessions.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("remote-address", Kind::Text, "Address of the neighbour"),
        shown("local-address", Kind::Text, "Local address"),
        shown("state", Kind::Text, "State of the session"),
        shown("state-changes", Kind::COUNTER, "Number of state changes"),
        shown("uptime", Kind::SPAN, "Uptime of the session"),
        shown(
            "desired-tx-interval",
            Kind::SPAN,
            "Desired transmit interval",
        ),
        shown("actual-tx-interval", Kind::SPAN, "Time between messages"),
        shown("required-min-rx", Kind::SPAN, "Required receive interval"),
        shown(
            "remote-min-rx",
            Kind::SPAN,
            "Receive interval required by the neighbour",
        ),
        shown(
            "multiplier",
            Kind::COUNTER,
            "Number of missed messages after which the session is down",
        ),
        shown(
            "hold-time",
            Kind::SPAN,
            "Time after which a silent neighbour is down",
        ),
        shown("packets-rx", Kind::COUNTER, "Received messages"),
        shown("packets-tx", Kind::COUNTER, "Sent messages"),
    ]],
    flags: &[
        Flag::new('M', "multihop", 0),
        Flag::new('U', "up", 1),
        Flag::new('I', "inactive", 2),
    ],
    columns: &["remote-address", "local-address", "state", "uptime"],
    ..idle_rows("/routing/bfd/session", "BFD sessions")
};
