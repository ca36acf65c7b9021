//! `/interface/pppoe-client`: PPPoE clients (RFC 2516).

use menu::{
    Argument, Command, Draft, Effect, Flag, Kind, Menu, MenuShape, Property, Reason, Store,
};

use super::dial::{
    ALLOW, NAME, ON_DEMAND, PEER_DNS, UNIT_OR_AUTO, USER, keepalive, profile, routes, units,
};
use super::{NUMBERS, ONCE, RESET_COUNTERS};
use crate::declare::{DURATION, argument, text};
use crate::fragment::interface;
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT_OR_AUTO, "auto"),
        &[interface("The interface that carries the frames")],
        USER,
        &[
            profile("profile", "default"),
            text("service-name", "The service that is asked for"),
            text("ac-name", "The server that is asked for"),
            Property::new(
                "host-uniq",
                Kind::Text,
                "Host-Uniq tag, in hexadecimal digits",
            )
            .optional(),
        ],
        &[keepalive("10")],
        &routes(ON_DEMAND),
        &[PEER_DNS, ALLOW],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "interface", "user", "service-name"],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "pppoe-out",
    naming: "pppoe-out",
    check: Some(check),
    commands: &[
        MONITOR,
        Command {
            name: "scan",
            help: "Show the servers and services on an interface",
            arguments: SCAN,
            effect: Effect::Full,
            repeats: true,
        },
        RESET_COUNTERS,
    ],
    ..Menu::new("/interface/pppoe-client", MenuShape::List, "PPPoE clients")
};

/// Flags of PPPoE interfaces.
const FLAGS: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('I', "invalid", 0),
    Flag::new('R', "running", 0),
];

/// Monitors sessions.
pub(super) const MONITOR: Command = Command {
    name: "monitor",
    help: "Monitor the state of sessions",
    arguments: &[NUMBERS, ONCE],
    effect: Effect::Full,
    repeats: true,
};

const SCAN: &[Argument] = &[
    Argument {
        required: true,
        unnamed: true,
        ..argument(
            "interface",
            Kind::Reference("interface"),
            "The interface to scan",
        )
    },
    DURATION,
];

fn check(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let text = draft.get("host-uniq").map(ToString::to_string);
    let text = text.unwrap_or_default();
    let is_hexadecimal =
        text.len().is_multiple_of(2) && text.chars().all(|digit| digit.is_ascii_hexdigit());
    if !is_hexadecimal {
        let expected = "host-uniq must be pairs of hexadecimal digits, such as 0a1b2c";
        return Err(Reason::failure(expected));
    }
    super::has_a_link(draft, store)
}
