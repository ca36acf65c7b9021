//! `/interface/ppp-server`: PPP servers on serial ports and modems (RFC 1661).

use menu::{Kind, Menu, Property};

use super::dial::{UNIT, authentication, profile, units};
use crate::declare::{no, number, text};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            text("port", "The serial port"),
            number("data-channel", 0, 255, "Channel of the port for data").default("0"),
        ],
        &units(UNIT, "1500"),
        &[
            authentication("pap,chap,mschap1,mschap2"),
            profile("profile", "default"),
            text("modem-init", "AT commands for modem initialization"),
            number("ring-count", 1, 10, "Number of rings before answering").default("1"),
            no("null-modem", "Use a null modem cable instead of a modem"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "port", "profile"],
    naming: "ppp-in",
    ..idle_interfaces(
        "/interface/ppp-server",
        "ppp-in",
        "PPP servers over serial ports",
    )
};
