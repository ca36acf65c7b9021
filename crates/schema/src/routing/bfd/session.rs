//! `/routing/bfd/session`: BFD sessions.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("remote-address", Kind::Text, "Address of the neighbour"),
        shown("local-address", Kind::Text, "Address of this end"),
        shown("state", Kind::Text, "How far it is"),
        shown("state-changes", Kind::COUNTER, "How often that changed"),
        shown("uptime", Kind::SPAN, "How long it has been up"),
        shown(
            "desired-tx-interval",
            Kind::SPAN,
            "Time between messages that this end wants",
        ),
        shown("actual-tx-interval", Kind::SPAN, "Time between messages"),
        shown("required-min-rx", Kind::SPAN, "Time that this end needs"),
        shown("remote-min-rx", Kind::SPAN, "Time that the other end needs"),
        shown("multiplier", Kind::COUNTER, "Messages that may be missed"),
        shown("hold-time", Kind::SPAN, "After which silence it is gone"),
        shown("packets-rx", Kind::COUNTER, "Messages from it"),
        shown("packets-tx", Kind::COUNTER, "Messages to it"),
    ]],
    flags: &[
        Flag::new('M', "multihop", 0),
        Flag::new('U', "up", 1),
        Flag::new('I', "inactive", 2),
    ],
    columns: &["remote-address", "local-address", "state", "uptime"],
    ..idle_rows("/routing/bfd/session", "Sessions of BFD")
};
