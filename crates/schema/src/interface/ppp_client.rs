//! `/interface/ppp-client`: PPP clients on serial ports and modems (RFC 1661).

use menu::{Family, Kind, Menu, Property};

use super::dial::{ALLOW, NAME, PEER_DNS, ROUTES, UNIT, USER, keepalive, profile, units};
use super::{AT_CHAT, IDLE_MONITOR, MODEM_UPGRADE, NUMBER, idle_command_on_one};
use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PROPLIST, WITHOUT_PAGING,
    argument, list, no, number, optional, text,
};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

const MODES: Kind = Kind::Words(&["3g", "auto", "gsm", "lte", "lte-m", "nb-iot"]);
const ADDRESS: Kind = Kind::Address(Family::V4);

const MODEM: &[Property] = &[
    text("port", "The serial port"),
    number("data-channel", 0, 255, "Channel of the port for data").default("0"),
    number("info-channel", 0, 255, "Information channel of the port").default("0"),
    text("apn", "Name of the access point").default("internet"),
    Property::new("pin", Kind::Text, "PIN of the SIM card")
        .default("")
        .sensitive(),
    list("network-mode", &MODES, "Allowed network technologies").optional(),
    text("phone", "Phone number"),
    text("dial-command", "Dial command").default("ATDT"),
    text("modem-init", "AT commands for modem initialization"),
    no("null-modem", "Use a null modem cable instead of a modem"),
    optional("remote-address", ADDRESS, "Remote address"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT, "1500"),
        MODEM,
        USER,
        &[profile("profile", "default"), keepalive("30")],
        ROUTES,
        &[PEER_DNS, ALLOW],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "port", "phone", "user", "profile"],
    naming: "ppp-out",
    commands: &[
        IDLE_MONITOR,
        idle_command_on_one("at-chat", "Send a command to the modem", AT_CHAT),
        idle_command_on_one("firmware-upgrade", "Upgrade the modem", MODEM_UPGRADE),
        idle_command_on_one(
            "info",
            "Show modem information",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                NUMBER,
                ONCE,
                PROPLIST,
                argument("user-command", Kind::Text, "AT command for the modem"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command_on_one("scan", "Scan for networks", &[NUMBER]),
    ],
    ..idle_interfaces(
        "/interface/ppp-client",
        "ppp-out",
        "PPP clients over serial ports",
    )
};
